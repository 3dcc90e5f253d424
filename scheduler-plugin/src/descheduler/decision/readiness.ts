import { hasCondition } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { tooManyUnready } from "@isochrone/placement";

export interface Readiness {
  /** Excludes the namespace with most unready pods: one namespace can't stop the others' moves. */
  readonly pods: number;
  readonly unreadyPods: number;
  /** Namespaces with too many unready pods, with the counts. Nothing is moved there. */
  readonly troubled: ReadonlyMap<string, string>;
}

/** A younger pod that isn't ready is starting, not failing. */
const STARTING_MS = 60_000;

/** @param maxUnreadyRatio share of pods, from 0 to 1 */
export function readinessOf(
  live: readonly KubernetesObject[],
  maxUnreadyRatio: number,
  nowMs: number,
): Readiness {
  const namespaces = new Map<string, { pods: number; unready: number }>();
  for (const pod of live) {
    if (pod.metadata.deletionTimestamp !== undefined) continue;
    const name = pod.metadata.namespace ?? "default";
    const count = namespaces.get(name) ?? { pods: 0, unready: 0 };
    namespaces.set(name, count);
    count.pods++;
    if (isUnready(pod, nowMs)) count.unready++;
  }
  const troubled = new Map<string, string>();
  const sum = { pods: 0, unready: 0 };
  let worst = { pods: 0, unready: 0 };
  for (const [name, count] of namespaces) {
    sum.pods += count.pods;
    sum.unready += count.unready;
    if (count.unready > worst.unready) worst = count;
    if (tooManyUnready(count.unready, count.pods, maxUnreadyRatio))
      troubled.set(name, `${count.unready} of ${count.pods} pods of namespace ${name} aren't ready`);
  }
  return { pods: sum.pods - worst.pods, unreadyPods: sum.unready - worst.unready, troubled };
}

function isUnready(pod: KubernetesObject, nowMs: number): boolean {
  if (hasCondition(pod, "Ready")) return false;
  return !(nowMs - Date.parse(pod.metadata.creationTimestamp ?? "") < STARTING_MS);
}

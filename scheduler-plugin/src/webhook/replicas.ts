import { keyOf, LABELS } from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import type { InformerChange, KubernetesObject, PodStatus } from "@isochrone/kubernetes";

export class GroupReplicas {
  readonly #workloads = new Map<string, string>();
  readonly #counts = new Map<string, number>();

  take({ type, object }: InformerChange): void {
    const key = keyOf(object);
    const before = this.#workloads.get(key) ?? null;
    const after = type === "deleted" ? null : workloadOf(object);
    if (before === after) return;
    if (before !== null) this.#add(before, -1);
    if (after === null) this.#workloads.delete(key);
    else {
      this.#workloads.set(key, after);
      this.#add(after, 1);
    }
  }

  of(namespace: string, group: string, selector: string): number {
    return this.#counts.get(nameOf(namespace, group, selector)) ?? 0;
  }

  #add(workload: string, change: 1 | -1): void {
    const count = (this.#counts.get(workload) ?? 0) + change;
    if (count === 0) this.#counts.delete(workload);
    else this.#counts.set(workload, count);
  }
}

function workloadOf({ metadata, status }: KubernetesObject): string | null {
  const group = metadata.labels?.[LABELS.appGroup];
  const selector = metadata.labels?.[LABELS.appGroupWorkload];
  const isOver =
    metadata.deletionTimestamp !== undefined ||
    ["Succeeded", "Failed"].includes(String(looseFields<PodStatus>(status).phase));
  if (group === undefined || selector === undefined || isOver) return null;
  return nameOf(metadata.namespace ?? "default", group, selector);
}

/** None of the three can contain a slash. */
function nameOf(namespace: string, group: string, selector: string): string {
  return `${namespace}/${group}/${selector}`;
}

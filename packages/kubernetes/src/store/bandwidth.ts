import { looseFields, looseList, parseBitsPerSecond, type BitsPerSecond } from "@isochrone/primitives";
import type {
  AppGroupDependency,
  AppGroupSpec,
  AppGroupWorkload,
  AppGroupWorkloadRef,
  KubernetesObject,
} from "../kinds.ts";

export const INGRESS_BANDWIDTH = "kubernetes.io/ingress-bandwidth";
export const EGRESS_BANDWIDTH = "kubernetes.io/egress-bandwidth";

/** Range of the CNI plugin; outside it, the pod's network fails. */
const MIN_BITS_PER_SECOND = 1e3;
const MAX_BITS_PER_SECOND = 1e15;

/** Bandwidth limits of a pod, bits per second. Null: absent or out of range. */
export interface BandwidthLimits {
  readonly ingressLimitBitsPerSecond: BitsPerSecond | null;
  readonly egressLimitBitsPerSecond: BitsPerSecond | null;
}

export function bandwidthLimits(annotations: Readonly<Record<string, string>>): BandwidthLimits {
  return {
    ingressLimitBitsPerSecond: limit(annotations[INGRESS_BANDWIDTH]),
    egressLimitBitsPerSecond: limit(annotations[EGRESS_BANDWIDTH]),
  };
}

function limit(quantity: string | undefined): number | null {
  const amount = parseBitsPerSecond(quantity);
  return amount !== null && amount >= MIN_BITS_PER_SECOND && amount <= MAX_BITS_PER_SECOND ? amount : null;
}

export type ReplicasOf = (selector: string) => number;

/**
 * minBandwidth applies per pair of pods, so it counts once per pod at the other end. A direction without need
 * isn't limited.
 */
export function bandwidthAnnotations(
  appGroup: KubernetesObject,
  workload: string,
  replicasOf: ReplicasOf = () => 1,
): Record<string, string> {
  let egress = 0;
  let ingress = 0;
  for (const { selector, dependency, minBitsPerSecond } of bandwidthNeeds(appGroup)) {
    if (selector === workload) egress += minBitsPerSecond * Math.max(1, replicasOf(dependency));
    if (dependency === workload) ingress += minBitsPerSecond * Math.max(1, replicasOf(selector));
  }
  return {
    ...(ingress > 0 ? { [INGRESS_BANDWIDTH]: bounded(ingress) } : {}),
    ...(egress > 0 ? { [EGRESS_BANDWIDTH]: bounded(egress) } : {}),
  };
}

function bounded(bitsPerSecond: BitsPerSecond): string {
  return String(Math.min(Math.max(Math.ceil(bitsPerSecond), MIN_BITS_PER_SECOND), MAX_BITS_PER_SECOND));
}

interface BandwidthNeed {
  readonly selector: string;
  readonly dependency: string;
  readonly minBitsPerSecond: BitsPerSecond;
}

export function bandwidthNeeds({ spec }: KubernetesObject): BandwidthNeed[] {
  return looseList<AppGroupWorkload>(looseFields<AppGroupSpec>(spec).workloads).flatMap(
    ({ workload, dependencies }) => {
      const { selector } = looseFields<AppGroupWorkloadRef>(workload);
      if (typeof selector !== "string") return [];
      return looseList<AppGroupDependency>(dependencies).flatMap((entry) => {
        const { selector: dependency } = looseFields<AppGroupWorkloadRef>(entry.workload);
        const minBitsPerSecond = parseBitsPerSecond(entry.minBandwidth);
        if (typeof dependency !== "string" || minBitsPerSecond === null) return [];
        return [{ selector, dependency, minBitsPerSecond }];
      });
    },
  );
}

import type { ClusterGraph } from "@isochrone/topology";
import type { PlacedEndpoint } from "./routing.ts";

interface EndpointPod {
  readonly name: string;
  readonly node: string;
  readonly cpuRequestMillicores: number | null;
  readonly cpuLimitMillicores: number | null;
}

export interface Endpoint extends PlacedEndpoint {
  readonly name: string;
  /** CPU available to it. Null: unknown. */
  readonly capacityMillicores: number | null;
}

interface CapacityInput {
  readonly cluster: ClusterGraph;
  readonly pods: readonly EndpointPod[];
  /** Mean measured use of one pod. Null: unknown. */
  readonly cpuMillicores: number | null;
  /** Usable fraction of the CPU of a node and of an endpoint, as `planner.maxCpuUse`. */
  readonly maxCpuUse: number;
}

/**
 * A limit alone guarantees nothing: nodes are overcommitted. A pod gets its request, and up to its limit an
 * even share of what others leave.
 */
export function endpointsWithCapacity(input: CapacityInput): Endpoint[] {
  const onNode = Map.groupBy(input.pods, ({ node }) => node);
  return input.pods.map((pod) => {
    const shared = nodeShare(input, pod.node, onNode.get(pod.node)!.length);
    const most = atLeast(pod.cpuRequestMillicores, shared);
    return {
      name: pod.name,
      zone: input.cluster.node(pod.node)?.zone ?? null,
      capacityMillicores: most === null ? null : Math.min(most, pod.cpuLimitMillicores ?? Infinity),
    };
  });
}

/** Largest capacity at which node and pod reach `maxCpuUse` together. Null: the node's use is unknown. */
function nodeShare(
  { cluster, cpuMillicores, maxCpuUse }: CapacityInput,
  name: string,
  sharing: number,
): number | null {
  const id = cluster.idOf(name);
  const whole = cluster.nodes[id]?.allocatableCpuMillicores ?? null;
  const free = cluster.available("cpuMillicores")[id] ?? Number.NaN;
  if (whole === null || Number.isNaN(free) || cpuMillicores === null || !(maxCpuUse > 0)) return null;
  const others = Math.max(0, whole - free - cpuMillicores * sharing);
  return Math.max(0, whole - others / maxCpuUse) / sharing;
}

function atLeast(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return Math.max(a, b);
}

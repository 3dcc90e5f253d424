// How much CPU the endpoints of a Service may use where they are.
import type { ClusterGraph } from "@isochrone/topology";
import type { PlacedEndpoint } from "./routing.ts";

/** A ready pod behind a Service. */
interface EndpointPod {
  readonly name: string;
  readonly node: string;
  /** Of all its containers; null: one has none. */
  readonly cpuRequestMillicores: number | null;
  readonly cpuLimitMillicores: number | null;
}

export interface Endpoint extends PlacedEndpoint {
  readonly name: string;
  /** CPU that it can get; null: nobody knows. */
  readonly capacityMillicores: number | null;
}

interface CapacityInput {
  readonly cluster: ClusterGraph;
  readonly pods: readonly EndpointPod[];
  /** Mean measured use of one of the pods; null: nobody knows. */
  readonly cpuMillicores: number | null;
  /** Share of a node's CPU, and of an endpoint's, that may be used, as `planner.maxCpuUse`. */
  readonly maxCpuUse: number;
}

/**
 * What a pod requests is its own. Beyond it a pod gets, up to its limit, an even part of what others leave of
 * its node, as far as that may be used. A limit alone promises nothing: nodes are overcommitted.
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

/** So much that, used up to `maxCpuUse`, the node is used up to it too; null: the node's use isn't known. */
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

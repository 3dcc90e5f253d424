import type { Channel, ClusterGraph } from "@isochrone/topology";
import { peersOf } from "../scoring/neighbours.ts";
import type { PlacementProblem } from "../scoring/problem.ts";
import { areaCostsOf } from "./area-costs.ts";
import type { AreaCostTable } from "./area-costs.ts";
import type { UpstreamPair } from "./upstream.ts";

/** Outcome of the plugin's PreFilter: scores, equal scores for all nodes, or failure on every node. */
type UpstreamInput =
  | {
      readonly graph: ClusterGraph;
      readonly table: AreaCostTable;
      readonly pairs: readonly UpstreamPair[];
    }
  | { readonly equal: string }
  | { readonly failed: string };

/** Dependencies are the declared channels that the pod's workload starts. */
export function upstreamInput(problem: PlacementProblem): UpstreamInput {
  const { pod, cluster, workflow, assumed = [] } = problem;
  if (pod.workload === null) return { equal: "the pod belongs to no AppGroup" };
  if (workflow.graph === null) return { equal: workflow.reason };
  if (cluster.graph === null) return { equal: cluster.reason };
  if (!workflow.graph.channelsFrom(pod.workload).some(isDependency))
    return { equal: "its workload declares no dependency" };
  // Without a NetworkTopology the plugin panics. KEP-260 says that all nodes are equal then.
  if (cluster.graph.declaredAreas === null && cluster.graph.medianKnownCost() === null)
    return { equal: "no network cost is known" };
  const pairs: UpstreamPair[] = [];
  for (const { channel, calling, node } of peersOf(pod, workflow.graph, assumed)) {
    if (!calling || !isDependency(channel)) continue;
    const id = cluster.graph.idOf(node);
    if (id < 0) return { failed: `pod hostname not found: nodeinfo not found for node name "${node}"` };
    pairs.push({ node: id, maxNetworkCost: channel.maxNetworkCost ?? 0 });
  }
  if (pairs.length === 0) return { equal: "no pod of its dependencies is placed" };
  return { graph: cluster.graph, table: areaCostsOf(cluster.graph), pairs };
}

function isDependency({ origin, maxNetworkCost, minBandwidthBitsPerSecond }: Channel): boolean {
  return origin === "declared" || maxNetworkCost !== null || minBandwidthBitsPerSecond !== null;
}

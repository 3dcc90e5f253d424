// From the graphs to what the plugin reads: AppGroup, NetworkTopology and placed pods.
import type { Channel, ClusterGraph } from "@isochrone/topology";
import { peersOf } from "../scoring/neighbours.ts";
import type { PlacementProblem } from "../scoring/problem.ts";
import { areaCostsOf } from "./area-costs.ts";
import type { AreaCostTable } from "./area-costs.ts";
import type { UpstreamPair } from "./upstream.ts";

/** What the plugin's PreFilter comes to. */
type UpstreamInput =
  | {
      readonly graph: ClusterGraph;
      readonly table: AreaCostTable;
      readonly pairs: readonly UpstreamPair[];
    }
  /** The plugin scores all nodes equally. */
  | { readonly equal: string }
  /** The pod's attempt fails, whatever the node. */
  | { readonly failed: string };

/**
 * Dependencies are the channels that the pod's workload starts and somebody declared; their placed pods are
 * what the graph and the ledger show.
 */
export function upstreamInput(problem: PlacementProblem): UpstreamInput {
  const { pod, cluster, workflow, assumed = [] } = problem;
  if (pod.workload === null) return { equal: "the pod belongs to no AppGroup" };
  if (workflow.graph === null) return { equal: workflow.reason };
  if (cluster.graph === null) return { equal: cluster.reason };
  if (!workflow.graph.channelsFrom(pod.workload).some(isDependency))
    return { equal: "its workload declares no dependency" };
  // The plugin panics without a NetworkTopology; its KEP says that all nodes are equal then.
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

/** What was observed only is no dependency of an AppGroup. */
function isDependency({ origin, maxNetworkCost, minBandwidthBitsPerSecond }: Channel): boolean {
  return origin === "declared" || maxNetworkCost !== null || minBandwidthBitsPerSecond !== null;
}

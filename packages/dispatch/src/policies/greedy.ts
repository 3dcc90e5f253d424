import { chosen, CLOUD, expectedWait, hosts, type Dispatcher } from "../dispatcher.ts";
import type { NodeState } from "../system.ts";

/**
 * Greedy, the baseline of KaiS (section V-A): the edge node of lowest utilization. It uses the cloud only for
 * services that stand nowhere.
 */
export function greedy(): Dispatcher {
  return {
    name: "greedy",
    choose: ({ service }, { state }) => leastUsed(hosts(service, state.nodes)),
  };
}

/**
 * Greedy that takes "has sufficient resources" at its word: an idle replica with its CPU, else the cloud.
 * @param tie which of equally used nodes wins
 */
export function greedyCloud(tie: "first" | "last" = "first"): Dispatcher {
  return {
    name: "greedy-cloud",
    choose(request, view) {
      const nodes = hosts(request.service, view.state.nodes).filter(
        (node) => expectedWait(request, node, view) === 0,
      );
      return leastUsed(tie === "first" ? nodes : nodes.toReversed());
    },
  };
}

function leastUsed(nodes: readonly NodeState[]): ReturnType<Dispatcher["choose"]> {
  let best: NodeState | null = null;
  let least = Number.POSITIVE_INFINITY;
  for (const node of nodes) {
    const used = 2 - node.freeCores / node.cores - node.freeMemoryGb / node.memoryGb;
    if (used < least) [best, least] = [node, used];
  }
  return best === null ? chosen(CLOUD) : chosen(best.index, { utilization: least / 2 });
}

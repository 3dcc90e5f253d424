import { chosen, CLOUD, expectedWait, hosts, type Dispatcher } from "../dispatcher.ts";
import type { NodeState } from "../system.ts";

/** Greedy of KaiS (section V-A): the least utilized edge node; the cloud for services without a replica. */
export function greedy(): Dispatcher {
  return {
    name: "greedy",
    choose: ({ service }, { state }) => leastUsed(hosts(service, state.nodes)),
  };
}

/** Requires an idle replica with CPU, else the cloud. `tie`: which of equally used nodes wins. */
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

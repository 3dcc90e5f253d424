// 000: ResourceAware and NetworkAware beside the default profile's plugins, and the descheduler of its section 3.4.
import { paperMoves, ResourceNetwork } from "@isochrone/placement";
import type { Random } from "@isochrone/runtime";
import type { Point } from "../scenario/model.ts";
import { clusterGraph, usedAmounts, workflowGraph } from "./graphs.ts";
import { feasibleNodes } from "./kube-scheduler/filters.ts";
import { FillingCluster } from "./kube-scheduler/filling-cluster.ts";
import { scheduleAll } from "./kube-scheduler/imitation.ts";
import { requestOf, staying, together } from "./pods.ts";
import { ContenderError } from "./port.ts";
import type { Contender, Observation, Placement, PodMove } from "./port.ts";
import { problemOf, strategyPlugin } from "./strategy-plugin.ts";
import type { Graphs } from "./strategy-plugin.ts";

/** As the paper runs it: "the same value of 0.5" for each. */
const WEIGHTS = { alpha: 0.5, beta: 0.5, gamma: 0.5, delta: 0.5 } as const;

/**
 * Of the sum against the default plugins' 1 to 3. The paper names none. 5 is what KEP-260's authors give theirs and what our extender has: with 1,
 * the weight of a plugin that names none, spreading (2) would undo what the paper measures.
 */
export const PAPER_PLUGIN_WEIGHT = 5;

export class PaperContender implements Contender {
  readonly id = "paper";
  readonly by = "Algorithm 1 of 000, raw, in an imitation of kube-scheduler 1.35, and its descheduler";
  readonly #strategy = new ResourceNetwork("raw", WEIGHTS);

  async place(
    point: Point,
    before: Observation | null,
    random: Random,
    kept: Placement = new Map(),
  ): Promise<Placement> {
    const cluster = before?.cluster ?? point.cluster;
    const request = requestOf(point, cluster, kept);
    const placement = staying(request);
    const graphs = {
      cluster: clusterGraph(cluster, { used: usedAmounts(point, placement, before) }),
      workflow: workflowGraph(point, before, { placement }),
    };
    try {
      const extra = strategyPlugin(this.#strategy, PAPER_PLUGIN_WEIGHT, graphs);
      return together(request, scheduleAll(request, random, { extra }));
    } catch (error) {
      throw new ContenderError(this.id, (error as Error).message, { cause: error });
    }
  }

  /**
   * "If there is at least one node with a higher score": no margin. The function is called for each pod, and looks at where pods are running then,
   * so that each finds those before it moved; one pod of a Deployment per run. It goes to the node of the highest score.
   */
  async adjust(point: Point, placement: Placement, observed: Observation): Promise<readonly PodMove[]> {
    const request = requestOf(point, observed.cluster, placement);
    const now = new Map(staying(request));
    const filling = new FillingCluster(request.nodes, request.placed);
    const moves: PodMove[] = [];
    const moved = new Set<string>();
    for (const [pod, from] of request.placed) {
      if (moved.has(pod.workload)) continue;
      const admitting = feasibleNodes(pod, filling).map(({ node }) => node.name);
      const candidates = [...new Set([from, ...admitting])].sort();
      const problem = problemOf(pod, candidates, graphsOf(point, observed, now));
      const [move] = paperMoves(
        [{ uid: pod.name, owner: pod.workload, node: from, problem }],
        this.#strategy,
      );
      if (move === undefined) continue;
      filling.remove(pod, from);
      filling.add(pod, move.to);
      now.set(pod.name, move.to);
      moved.add(pod.workload);
      moves.push({ pod: pod.name, from, to: move.to });
    }
    return moves;
  }

  async close(): Promise<void> {}
}

function graphsOf(point: Point, observed: Observation, placement: Placement): Graphs {
  return {
    cluster: clusterGraph(observed.cluster, { used: usedAmounts(point, placement, observed) }),
    workflow: workflowGraph(point, observed, { placement }),
  };
}

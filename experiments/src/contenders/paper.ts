// 000: ResourceAware and NetworkAware beside the default profile's plugins, and the descheduler of its
// section 3.4.
import { paperMove, ResourceNetwork } from "@isochrone/placement";
import type { Strategy } from "@isochrone/placement";
import type { Point } from "../scenario/model.ts";
import { scheduleAll } from "./kube-scheduler/imitation.ts";
import { ModelledCluster } from "./kube-scheduler/modelled-cluster.ts";
import { requestOf, staying } from "./pods.ts";
import type { Observation, Placement, PodMove } from "./port.ts";
import { graphsOf, SchedulingContender } from "./scheduling-contender.ts";
import type { SchedulingInput } from "./scheduling-contender.ts";
import { problemOf, strategyPlugin } from "./strategy-plugin.ts";

/** As the paper runs it: "the same value of 0.5" for each. */
const WEIGHTS = { alpha: 0.5, beta: 0.5, gamma: 0.5, delta: 0.5 } as const;

/**
 * Of the papers' sums, 0 to 100 over the nodes that are feasible, against the default plugins' 1 to 3: a node
 * that is worst by the sum loses up to 500 points, one that is a hundredth of the range behind the best loses
 * 5, and where the default plugins don't tell nodes apart the sum alone decides. The papers name no weight. 5
 * is what KEP-260's authors give theirs and what our extender has: with 1, the weight of a plugin that names
 * none, spreading (2) would undo what the paper measures.
 */
export const PAPER_PLUGIN_WEIGHT = 5;

export class PaperContender extends SchedulingContender {
  readonly id: "paper" | "paper-scaled";
  readonly by: string;
  readonly #strategy: Strategy;

  /** `paper-scaled`: both parts on one scale, which the product has as mode `scaled`. */
  constructor(id: "paper" | "paper-scaled" = "paper") {
    super();
    this.id = id;
    const isScaled = id === "paper-scaled";
    this.#strategy = new ResourceNetwork(isScaled ? "scaled" : "raw", WEIGHTS);
    const sum = isScaled ? "each part scaled to 0..100 over the candidate nodes" : "raw";
    this.by = `Algorithm 1 of Marchese and Tomarchio 2023 (DAG workflows), ${sum}, in an imitation of kube-scheduler 1.35, and its descheduler`;
  }

  protected schedule({ point, before, request, random }: SchedulingInput): Placement {
    const graphs = graphsOf(point, before, staying(request));
    return scheduleAll(request, random, {
      extra: strategyPlugin(this.#strategy, PAPER_PLUGIN_WEIGHT, graphs),
    });
  }

  /**
   * "If there is at least one node with a higher score": no margin. The function is called for each pod, and
   * looks at where pods are running then, so that each finds those before it moved; one pod of a Deployment
   * per run. It goes to the node of the highest score, before the scheduler makes whole numbers of scores.
   */
  async adjust(point: Point, placement: Placement, observed: Observation): Promise<readonly PodMove[]> {
    const request = requestOf(point, observed.cluster, placement);
    const now = new Map(staying(request));
    const cluster = new ModelledCluster(request);
    const moves: PodMove[] = [];
    const moved = new Set<string>();
    for (const [pod, from] of request.placed) {
      if (moved.has(pod.workload)) continue;
      const candidates = [...new Set([from, ...cluster.feasible(pod).nodes])].sort();
      const problem = problemOf(pod, candidates, graphsOf(point, observed, now));
      const to = paperMove(problem, from, this.#strategy)?.to.node;
      if (to === undefined) continue;
      cluster.place(pod, to);
      now.set(pod.name, to);
      moved.add(pod.workload);
      moves.push({ pod: pod.name, from, to });
    }
    return moves;
  }
}

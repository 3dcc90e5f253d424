// Contender 000: ResourceAware and NetworkAware beside the default plugins, and the descheduler of its
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

/** The paper uses "the same value of 0.5" for each. */
const WEIGHTS = { alpha: 0.5, beta: 0.5, gamma: 0.5, delta: 0.5 } as const;

/**
 * Weight of the papers' sums, scaled to 0 to 100 over feasible nodes, against the default plugins' 1 to 3.
 * The worst node loses up to 500 points; one a hundredth of the range behind the best loses 5. If the default
 * plugins don't distinguish nodes, the sum alone decides. The papers state no weight. 5 is the weight of
 * KEP-260's authors and of our extender. With 1, the default weight, spreading (2) would undo the measured
 * effect.
 */
export const PAPER_PLUGIN_WEIGHT = 5;

export class PaperContender extends SchedulingContender {
  readonly id: "paper" | "paper-scaled";
  readonly by: string;
  readonly #strategy: Strategy;

  /** `paper-scaled`: both parts on one scale, like mode `scaled` of the product. */
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
   * Moves "if there is at least one node with a higher score": no margin. The function runs per pod and sees
   * earlier moves; one pod of a Deployment per run. The target has the highest score before rounding.
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

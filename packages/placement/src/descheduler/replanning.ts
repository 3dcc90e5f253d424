import { plan } from "../planner/search/plan.ts";
import type { PlanProblem } from "../planner/objective/plan-problem.ts";
import { isPlannable, PLAN_EFFORT } from "./move-costs.ts";
import type { MoveRules } from "./deschedule-input.ts";
import type { PodMove } from "./proposal.ts";
import type { WorkflowMoves } from "./workflow-moves.ts";

export class Replanning {
  readonly #moves: WorkflowMoves;
  readonly #rules: MoveRules;
  readonly #seed: number;

  /** @param seed varies per run, because one search often ends in a local optimum */
  constructor(moves: WorkflowMoves, rules: MoveRules, seed: number) {
    this.#moves = moves;
    this.#rules = rules;
    this.#seed = seed;
  }

  zones(): (string | null)[] {
    const { problem, pods } = this.#moves.workflow;
    const costs = new Map<string | null, number>();
    for (const pod of pods.keys()) {
      const { zone } = problem.nodes[this.#moves.nodeOf(pod)]!;
      costs.set(zone, (costs.get(zone) ?? 0) + this.#moves.costOf(pod));
    }
    return [...costs].sort(([, a], [, b]) => b - a).map(([zone]) => zone);
  }

  /** Moves one replica per workload, preferably one in that zone. */
  leaving(zone: string | null): PodMove[] {
    const { problem } = this.#moves.workflow;
    if (!isPlannable(problem)) return [];
    const { nodes } = problem;
    const moving = this.#replicasOf(zone);
    const fixed = problem.pods.map((pod, index) => {
      if (moving.has(index)) return pod;
      const allowed = new Uint8Array(nodes.length);
      allowed[this.#moves.nodeOf(index)] = 1;
      return { ...pod, allowed };
    });
    const assignment = this.#plan({ ...problem, pods: fixed });
    if (assignment === null) return [];
    return [...moving]
      .map((pod) => ({ pod, node: assignment[pod]! }))
      .filter(({ pod, node }) => node !== this.#moves.nodeOf(pod));
  }

  /** Replicas are interchangeable, so one already in a planned place stays. */
  whole(): PodMove[] {
    const { problem, pods } = this.#moves.workflow;
    const assignment = isPlannable(problem) ? this.#plan(problem) : null;
    if (assignment === null) return [];
    const moves: PodMove[] = [];
    for (const replicas of Map.groupBy(pods.keys(), (pod) => pods[pod]!.owner).values()) {
      const targets = replicas.map((pod) => assignment[pod]!);
      const leaving = replicas.filter((pod) => {
        const at = targets.indexOf(this.#moves.nodeOf(pod));
        if (at >= 0) targets.splice(at, 1);
        return at < 0;
      });
      moves.push(...leaving.map((pod, index) => ({ pod, node: targets[index]! })));
    }
    return moves;
  }

  #plan(problem: PlanProblem): Int32Array | null {
    const { bytesPerRequest, pressureShare, maxCpuUse, moneyShare, maxLatencyLoss } = this.#rules;
    const limits = { seed: this.#seed, now: () => 0, deadlineMs: 1, effort: PLAN_EFFORT };
    const cost = { bytesPerRequest, pressureShare, maxCpuUse, moneyShare, maxLatencyLoss };
    const found = plan(problem, { ...limits, ...cost });
    return found.complete ? found.assignment : null;
  }

  #replicasOf(zone: string | null): Set<number> {
    const { pods, problem } = this.#moves.workflow;
    const first = new Map<
      string,
      { readonly pod: number; readonly isThere: boolean; readonly cost: number }
    >();
    for (const [pod, { owner }] of pods.entries()) {
      const isThere = problem.nodes[this.#moves.nodeOf(pod)]!.zone === zone;
      const one = { pod, isThere, cost: this.#moves.costOf(pod) };
      const other = first.get(owner);
      const isBetter =
        other === undefined || (one.isThere === other.isThere ? one.cost > other.cost : one.isThere);
      if (isBetter) first.set(owner, one);
    }
    return new Set([...first.values()].map(({ pod }) => pod));
  }
}

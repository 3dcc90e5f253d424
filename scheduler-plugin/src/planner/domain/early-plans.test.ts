import type { PlanProblem } from "@isochrone/placement";
import { randomProblem } from "@isochrone/placement/planner-testing";
import { describe, expect, test } from "vitest";
import { EarlyPlans } from "./early-plans.ts";
import { searchPlan } from "./search.ts";
import type { SearchResult } from "./search.ts";

const SEEDS = [1, 2, 3, 4, 5];
const LONG = {
  seed: 1,
  budgetMs: 1,
  bytesPerRequest: 1_000,
  maxAlternatives: 0,
  now: () => 0,
  effort: 100_000,
};
const QUICK = { ...LONG, effort: 2_000 };

const problemOf = (seed: number): PlanProblem => randomProblem(seed, { pods: 16, nodes: 8, constraints: 0 });

function nodesOf(problem: PlanProblem, { assignment }: SearchResult): Map<string, string> {
  return new Map(problem.pods.map(({ name }, pod) => [name, problem.nodes[assignment[pod]!]!.name]));
}

function reversed(problem: PlanProblem): PlanProblem {
  const pods = problem.pods.map((pod) => ({ ...pod, allowed: pod.allowed?.toReversed() ?? null }));
  return { ...problem, nodes: problem.nodes.toReversed(), pods };
}

describe("a plan that was found early", () => {
  test("is what the quick search at the workflow's turn starts from", () => {
    let better = 0;
    for (const seed of SEEDS) {
      const problem = problemOf(seed);
      const plans = new EarlyPlans();
      const early = plans.search(problem, LONG, "early");
      const due = plans.search(problem, QUICK, "due");
      expect(due.cost.total).toBeLessThanOrEqual(early.cost.total);
      if (searchPlan(problem, QUICK).cost.total > due.cost.total) better++;
      // The turn may repeat, for instance if the pods couldn't be released.
      expect(nodesOf(problem, plans.search(problem, QUICK, "due"))).toEqual(nodesOf(problem, due));
    }
    expect(better).toBeGreaterThan(SEEDS.length / 2);
  });

  test("is found again whatever the order of the nodes", () => {
    for (const seed of SEEDS) {
      const problem = problemOf(seed);
      const plans = new EarlyPlans();
      const early = plans.search(problem, LONG, "early");
      const due = plans.search(reversed(problem), QUICK, "due");
      expect(due.cost.total).toBeLessThanOrEqual(early.cost.total * (1 + 1e-9));
    }
  });

  test("says why its own search ended if the quick one finds nothing better", () => {
    const problem = problemOf(1);
    const plans = new EarlyPlans();
    const early = plans.search(problem, { ...LONG, effort: Infinity }, "early");
    expect(early.ended).toBe("converged");
    expect(plans.search(problem, QUICK, "due").ended).toBe("converged");
    expect(new EarlyPlans().search(problem, QUICK, "due").ended).toBe("effort");
  });

  test.each<[string, (problem: PlanProblem) => PlanProblem]>([
    [
      "another pod has come",
      (problem) => ({ ...problem, pods: [...problem.pods, { ...problem.pods[0]!, name: "late" }] }),
    ],
    [
      "its nodes are gone",
      (problem) => ({
        ...problem,
        nodes: problem.nodes.map((node) => ({ ...node, name: `${node.name}-new` })),
      }),
    ],
    [
      "it is of another workflow",
      (problem) => ({ ...problem, pods: problem.pods.map((pod) => ({ ...pod, namespace: "other" })) }),
    ],
    [
      "a pod may not be on its node any more",
      (problem) => ({
        ...problem,
        pods: problem.pods.map((pod, at) => ({
          ...pod,
          allowed: Uint8Array.from(problem.nodes, (_, node) => (at % 2 === node % 2 ? 1 : 0)),
        })),
      }),
    ],
  ])("is not used when %s", (_, changed) => {
    for (const seed of SEEDS) {
      const problem = { ...problemOf(seed) };
      const pods = problem.pods.map((pod) => ({ ...pod, allowed: null }));
      const plans = new EarlyPlans();
      plans.search({ ...problem, pods }, LONG, "early");
      const now = changed({ ...problem, pods });
      const due = plans.search(now, QUICK, "due");
      expect(nodesOf(now, due)).toEqual(nodesOf(now, searchPlan(now, QUICK)));
    }
  });

  test("is not kept of other searches", () => {
    const problem = problemOf(3);
    const plans = new EarlyPlans();
    plans.search(problem, LONG, "other");
    const due = plans.search(problem, QUICK, "due");
    expect(due.assignment).toEqual(searchPlan(problem, QUICK).assignment);
  });
});

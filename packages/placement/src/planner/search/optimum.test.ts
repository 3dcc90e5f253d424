// A sample, with a tenth of the default effort. `npm run bench -- planner` checks all 200 optima.
import { expect, test } from "vitest";
import { plan } from "./plan.ts";
import { optimum } from "../testing/branch-and-bound.ts";
import { smallProblem } from "../testing/instances.ts";
import { OPTIMA } from "../testing/optima.ts";

test("ten optima are found again", () => {
  const easiest = OPTIMA.toSorted(([, , a], [, , b]) => a - b).filter((_, at) => at % 10 === 0);
  for (const [seed, total] of easiest.slice(0, 10)) {
    const proven = optimum(smallProblem(seed), null)!;
    expect(proven.total).toBeCloseTo(total, 3);
  }
});

test("plans are within a hundredth of the optimum in the mean, and never a tenth above it", () => {
  const gaps = OPTIMA.filter((_, at) => at % 8 === 0).map(([seed, total]) => {
    const found = plan(smallProblem(seed), { seed: 1, now: () => 0, deadlineMs: 1, effort: 100_000 });
    return found.complete ? (found.cost.total - total) / total : Infinity;
  });
  expect(gaps).toHaveLength(25);
  expect(Math.max(...gaps)).toBeLessThan(0.1);
  expect(Math.min(...gaps)).toBeGreaterThan(-1e-6);
  expect(gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length).toBeLessThan(0.01);
});

test("the best node for one pod among others that stay is proven by the first start", () => {
  for (let seed = 1; seed <= 40; seed++) {
    const problem = smallProblem(seed);
    const { pods } = problem;
    const alone = { ...problem, pods: pods.slice(0, 1), constraints: [] };
    const found = plan(alone, { seed: 1, now: () => 0, deadlineMs: 1 });
    expect(found.ended).toBe("optimal");
    expect(found.cost.total).toBeCloseTo(optimum(alone, null)!.total, 6);
  }
});

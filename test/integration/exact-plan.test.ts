// Compares integer programming, branch and bound, and the planner's search.
import { exactPlan, plan } from "@isochrone/placement";
import { systemClock } from "@isochrone/runtime";
import { afterEach, expect, test } from "vitest";
import { optimum, randomProblem } from "@isochrone/placement/planner-testing";
import { ExactSolver } from "@isochrone/scheduler-plugin/testing";

const open: ExactSolver[] = [];
afterEach(async () => {
  for (const solver of open.splice(0)) await solver.close();
});

const now = (): number => systemClock.monotonic();

test("the solver and the branch and bound prove the same optima, and the planner finds them", async () => {
  const solver = new ExactSolver({ clock: systemClock });
  open.push(solver);
  const seen = { feasible: 0, infeasible: 0 };
  for (const seed of [1, 2, 4, 6, 9, 11, 12, 14]) {
    const problem = randomProblem(seed, { pods: 5, nodes: 4, constraints: 0.6, tightness: 0.4 });
    const proven = optimum(problem, null)!;
    const exact = await exactPlan(problem, { solve: solver.solve, now, deadlineMs: now() + 60_000 });
    const optimal = { kind: "optimal", total: expect.closeTo(proven.total, 0) };
    expect(exact).toMatchObject(proven.assignment === null ? { kind: "infeasible" } : optimal);
    const found = plan(problem, { seed: 1, now: () => 0, deadlineMs: 1, effort: 40_000 });
    expect(found.complete).toBe(proven.assignment !== null);
    seen[found.complete ? "feasible" : "infeasible"]++;
  }
  expect(seen.feasible).toBeGreaterThan(2);
  expect(seen.infeasible).toBeGreaterThan(0);
});

test("also where nodes are used beyond what they can take, and no plan avoids all of it", async () => {
  const solver = new ExactSolver({ clock: systemClock });
  open.push(solver);
  let overloaded = 0;
  for (const seed of [3, 5, 8, 13, 21, 34]) {
    const size = { pods: 5, nodes: 4, constraints: 0.3, tightness: 0.3, use: seed % 2 === 0 ? 0.6 : 0.95 };
    const problem = randomProblem(seed, size);
    const proven = optimum(problem, null)!;
    const exact = await exactPlan(problem, { solve: solver.solve, now, deadlineMs: now() + 60_000 });
    expect(exact).toMatchObject({ kind: "optimal", total: expect.closeTo(proven.total, 0) });
    const found = plan(problem, { seed: 1, now: () => 0, deadlineMs: 1, effort: 40_000 });
    expect(found.cost.total).toBeCloseTo(proven.total, 0);
    const unaware = plan(problem, { seed: 1, now: () => 0, deadlineMs: 1, effort: 40_000, maxCpuUse: 0 });
    if (found.cost.pressure > 2 * unaware.cost.pressure) overloaded++;
  }
  expect(overloaded).toBeGreaterThan(0);
});

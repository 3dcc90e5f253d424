import { seeded } from "@isochrone/primitives";
import { expect, test } from "vitest";
import { createObjective } from "./objective.ts";
import { plan } from "../search/plan.ts";
import type { PlanProblem } from "./plan-problem.ts";
import { drawIndex } from "../search/draws.ts";
import { randomProblem } from "../testing/instances.ts";

const limits = { now: () => 0, deadlineMs: 1, effort: 20_000, seed: 1 };

function running(seed: number): { readonly problem: PlanProblem; readonly current: Int32Array } {
  const problem = randomProblem(seed, { pods: 8, nodes: 6, tightness: 0.3, constraints: 0 });
  const nowhere = { ...problem, pods: problem.pods.map((pod) => ({ ...pod, current: -1 })) };
  const { assignment } = plan(nowhere, { ...limits, seed: seed + 1, effort: 50 });
  const nodes = problem.nodes.map((node, at) => {
    const free = node.free.slice();
    for (const [pod, on] of assignment.entries())
      if (on === at)
        for (const [resource, amount] of problem.pods[pod]!.demand.entries()) free[resource]! -= amount;
    return { ...node, free };
  });
  const pods = problem.pods.map((pod, at) => ({ ...pod, current: assignment[at]! }));
  return { problem: { ...problem, nodes, pods }, current: assignment };
}

const SEEDS = Array.from({ length: 40 }, (_, seed) => seed + 1);
const moved = (a: Int32Array, b: Int32Array): number => a.filter((node, pod) => node !== b[pod]).length;

test("each pod that leaves its node costs so much more, whichever way the cost is asked for", () => {
  const draw = seeded(3);
  for (const seed of SEEDS) {
    const { problem, current } = running(seed);
    const free = createObjective(problem);
    const priced = createObjective(problem, { moveCost: 5_000 });
    const other = current.map((node) => (draw() < 0.5 ? node : drawIndex(draw, problem.nodes.length)));
    const price = 5_000 * moved(other, current);
    expect(priced.total(other).total).toBeCloseTo(free.total(other).total + price, 3);
    const pod = drawIndex(draw, problem.pods.length);
    const node = drawIndex(draw, problem.nodes.length);
    const after = priced.total(other.with(pod, node)).total;
    expect(priced.moveDelta(other, pod, node)).toBeCloseTo(after - priced.total(other).total, 3);
  }
});

test("a pod that runs nowhere yet is placed for nothing", () => {
  const { problem, current } = running(1);
  const gated = { ...problem, pods: problem.pods.map((pod) => ({ ...pod, current: -1 })) };
  const total = (moveCost: number): number => createObjective(gated, { moveCost }).total(current).total;
  expect(total(5_000)).toBe(total(0));
});

test("plans with a price on moves move fewer pods, and are never dearer than staying", () => {
  let free = 0;
  let few = 0;
  for (const seed of SEEDS) {
    const { problem, current } = running(seed);
    const today = createObjective(problem).total(current).total;
    const moveCost = 0.02 * today;
    const priced = createObjective(problem, { moveCost });
    const without = plan(problem, limits);
    const found = plan(problem, { ...limits, moveCost });
    expect(found.complete).toBe(true);
    expect(found.cost.total).toBeCloseTo(priced.total(found.assignment).total, 3);
    expect(found.cost.total).toBeLessThanOrEqual(today * (1 + 1e-9));
    expect(found.lowerBound).toBeLessThanOrEqual(found.cost.total * (1 + 1e-9));
    free += moved(without.assignment, current);
    few += moved(found.assignment, current);
  }
  expect(free).toBeGreaterThan(0);
  expect(few).toBeLessThan(0.8 * free);
});

test.each([-1, Number.NaN, Number.POSITIVE_INFINITY])("a price of %s is refused", (moveCost) => {
  expect(() => plan(running(1).problem, { ...limits, moveCost })).toThrow(
    /moveCost of a plan must be 0 or more/,
  );
});

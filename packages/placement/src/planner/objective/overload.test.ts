import { expect, test } from "vitest";
import { handWorked } from "../../testing/problems.ts";
import { createObjective } from "./objective.ts";
import { plan } from "../search/plan.ts";
import type { PlanProblem, PlanUse } from "./plan-problem.ts";

function problemOf(uses: readonly number[], use: Omit<PlanUse, "pods">): PlanProblem {
  const { cluster, workflow } = handWorked();
  return {
    nodes: ["n1", "n2", "n3"].map((name) => ({
      name,
      zone: null,
      region: null,
      free: Float64Array.of(4_000),
      allocatable: Float64Array.of(4_000),
    })),
    pods: uses.map((_, index) => ({
      namespace: "shop",
      name: `p-${index}`,
      workload: "p",
      demand: Float64Array.of(100),
      allowed: null,
      current: -1,
    })),
    resources: ["cpu"],
    constraints: [],
    cluster: cluster.graph!,
    workflow: workflow.graph!,
    use: { ...use, pods: Float64Array.from(uses) },
  };
}

const CAPACITY = Float64Array.of(4_000, 4_000, 4_000);
const OPTIONS = { seed: 1, now: () => 0, deadlineMs: 1, effort: 20_000 };

test("what is used beyond the limit costs, in proportion; what is below costs nothing", () => {
  const problem = problemOf([1_000, 1_000], { capacity: CAPACITY, others: Float64Array.of(0, 2_200, 5_000) });
  const { total } = createObjective(problem, { pressureShare: 0, maxCpuUse: 0.8 });
  const pressure = (...nodes: number[]): number => total(Int32Array.from(nodes)).pressure;
  expect(pressure(0, 0)).toBe(0);
  // n2's limit is 3,200: the first replica fits, the second exceeds it entirely.
  expect(pressure(1, 0)).toBe(0);
  const whole = pressure(2, 2);
  expect(pressure(1, 1)).toBeCloseTo(whole / 2, 6);
  expect(pressure(2, 0)).toBeCloseTo(whole / 2, 6);
  // Ten times the traffic's cost at the median latency: 1,500 B/s at 25 ms.
  expect(whole).toBeCloseTo(10 * 1_500 * 25, 6);
});

test("a node that doesn't tell its use is never overloaded, and 0 means that use doesn't matter", () => {
  const problem = problemOf([9_000], {
    capacity: Float64Array.of(0, 4_000, 4_000),
    others: new Float64Array(3),
  });
  expect(createObjective(problem, { pressureShare: 0 }).total(Int32Array.of(0)).pressure).toBe(0);
  const heedless = createObjective(problem, { pressureShare: 0, maxCpuUse: 0 });
  expect(heedless.total(Int32Array.of(1)).pressure).toBe(0);
});

test("a plan leaves the cheapest node to others where it is really used, however little they request", () => {
  const busy = { capacity: CAPACITY, others: Float64Array.of(100, 3_100, 100) };
  expect(plan(problemOf([500], { ...busy, others: new Float64Array(3) }), OPTIONS).assignment).toEqual(
    Int32Array.of(1),
  );
  expect(plan(problemOf([500], busy), OPTIONS).assignment).not.toEqual(Int32Array.of(1));
  const all = { capacity: CAPACITY, others: Float64Array.of(3_900, 3_900, 3_900) };
  expect(plan(problemOf([500], all), OPTIONS).assignment).toEqual(Int32Array.of(1));
});

test("a plan of before is judged as before, whatever other pods take or nodes have since", () => {
  const { nodes, ...rest } = problemOf([1_000], { capacity: CAPACITY, others: new Float64Array(3) });
  const pressureOn = (problem: PlanProblem): number =>
    createObjective(problem, { maxCpuUse: 0 }).total(Int32Array.of(0)).pressure;
  const objective = createObjective({ ...rest, nodes }, { maxCpuUse: 0 });
  const before = objective.total(Int32Array.of(0)).pressure;
  const [first, ...others] = nodes;
  const fuller = { ...rest, nodes: [{ ...first!, free: Float64Array.of(1_000) }, ...others] };
  expect(pressureOn(fuller)).toBeGreaterThan(before);
  const larger = { ...rest, nodes: [{ ...first!, allocatable: Float64Array.of(8_000) }, ...others] };
  expect(pressureOn(larger)).not.toBe(before);
  expect(objective.total(Int32Array.of(0)).pressure).toBe(before);
  expect(pressureOn({ ...rest, nodes })).toBe(before);
});

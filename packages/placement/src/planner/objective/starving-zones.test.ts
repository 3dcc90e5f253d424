import { seeded } from "@isochrone/primitives";
import { ClusterGraph, WorkflowGraph, type Channel } from "@isochrone/topology";
import { expect, test } from "vitest";
import { channel, links, node, workload } from "../../testing/problems.ts";
import { drawIndex } from "../search/draws.ts";
import { plan } from "../search/plan.ts";
import { randomProblem } from "../testing/instances.ts";
import { createObjective } from "./objective.ts";
import type { PlanNode, PlanPod, PlanProblem } from "./plan-problem.ts";

const AT = "2026-01-01T00:00:00.000Z";
const NAMES = ["a1", "a2", "b1", "b2"];
const NEAREST: Pick<Channel, "routing" | "routingScopes"> = { routing: "nearest", routingScopes: ["zone"] };
const cluster = new ClusterGraph({
  version: 1,
  observedAt: AT,
  windowSeconds: 30,
  nodes: NAMES.map((name) => node(name, 2_000, 1e9, { zone: name[0]! })),
  links: links(
    ["a1", "a2", 0.5],
    ["b1", "b2", 0.5],
    ["a1", "b1", 3],
    ["a1", "b2", 3],
    ["a2", "b1", 3],
    ["a2", "b2", 3],
  ),
});
const nodes = NAMES.map((name): PlanNode => {
  const room = Float64Array.of(4_000);
  return { name, zone: name[0]!, region: null, free: room, allocatable: room };
});
const pod = (name: string, of: string): PlanPod => ({
  namespace: "shop",
  name,
  workload: of,
  demand: Float64Array.of(100),
  allowed: null,
  current: -1,
});

/** Three callers in zone a and one in b call one replica each; replicas use 400 millicores on average. */
function shop(
  pods: readonly PlanPod[],
  replicaCpu: PlanProblem["replicaCpu"],
  channels: Channel[] = [],
): PlanProblem {
  const named = (of: string): Record<string, null> =>
    Object.fromEntries(pods.filter((each) => each.workload === of).map(({ name }) => [name, null]));
  return {
    nodes,
    pods,
    resources: ["cpu"],
    constraints: [],
    cluster,
    workflow: new WorkflowGraph({
      version: 1,
      observedAt: AT,
      namespace: "shop",
      name: "flow",
      workloads: [
        workload("web", { cpu: 1, memory: 1 }, { w1: "a1", w2: "a1", w3: "a2", w4: "b1", ...named("web") }),
        workload("db", { cpu: 400, memory: 1 }, { d1: "a2", d2: "b2", ...named("db") }),
        workload("store", { cpu: 1, memory: 1 }, { s1: "b1" }),
      ],
      channels: [channel("web", "db", 4_000, NEAREST), ...channels],
    }),
    ...(replicaCpu === undefined ? {} : { replicaCpu }),
  };
}

const DB_LIMIT = new Map([["db", 500]]);
const OPTIONS = { seed: 1, now: () => 0, deadlineMs: 1e9, pressureShare: 0 };

test("a zone starves by what its callers cause above what its replicas may use", () => {
  const objective = createObjective(shop([pod("d3", "db")], DB_LIMIT), { pressureShare: 0 });
  const pressure = (at: number): number => objective.total(Int32Array.of(at)).pressure;
  // Zone a demands 600 of 800 millicores, and its replica may use 400. If all 800 were excess: ten times
  // 4,000 B/s at the median of 3 ms.
  const price = (10 * 4_000 * 3) / 800;
  expect(pressure(-1)).toBeCloseTo(200 * price, 6);
  expect(pressure(2)).toBeCloseTo(200 * price, 6);
  expect(pressure(0)).toBe(0);
});

test("a replica more goes to the zone that starves, though it exchanges most with the other one", () => {
  const drawn = [channel("db", "store", 3_000)];
  const nodeOf = (replicaCpu: PlanProblem["replicaCpu"]): string =>
    NAMES[plan(shop([pod("d3", "db")], replicaCpu, drawn), OPTIONS).assignment[0]!]!;
  expect(nodeOf(DB_LIMIT)).toMatch(/^a/);
  // With enough or unknown capacity, the network decides.
  expect(nodeOf(new Map([["db", 2_000]]))).toBe("b1");
  expect(nodeOf(undefined)).toBe("b1");
});

test("a caller more goes where there is room, and 0 switches it off", () => {
  const at = (settings: { readonly maxCpuUse?: number }): string =>
    NAMES[plan(shop([pod("w5", "web")], DB_LIMIT), { ...OPTIONS, ...settings }).assignment[0]!]!;
  expect(at({})).toMatch(/^b/);
  expect(
    createObjective(shop([pod("w5", "web")], DB_LIMIT), { maxCpuUse: 0, pressureShare: 0 }).total(
      Int32Array.of(0),
    ).pressure,
  ).toBe(0);
});

test("deltas are the differences of totals", () => {
  const draw = seeded(11);
  for (let seed = 1; seed <= 12; seed++) {
    const { workflow, ...rest } = randomProblem(seed, { pods: 8, nodes: 6 });
    const problem: PlanProblem = {
      ...rest,
      workflow: new WorkflowGraph({
        version: 1,
        observedAt: AT,
        namespace: workflow.namespace,
        name: workflow.name,
        workloads: workflow.workloads.map((each, at) => ({
          ...each,
          cpuMillicores: 100 + 50 * at,
          pods: [
            ...each.pods,
            ...[0, 1, 2].map((on) => ({ name: `${each.name}-${on}`, node: `n${(at + on * at) % 6}` })),
          ],
        })),
        channels: workflow.channels.map((each) => ({ ...each, ...NEAREST })),
      }),
      replicaCpu: new Map(workflow.workloads.map(({ name }) => [name, 80])),
    };
    const { total, moveDelta, swapDelta } = createObjective(problem, { pressureShare: 0 });
    let hasStarved = false;
    for (let round = 0; round < 20; round++) {
      const assignment = Int32Array.from({ length: 8 }, () => drawIndex(draw, 7) - 1);
      const before = total(assignment);
      hasStarved ||= before.pressure > 0;
      const [a, b, to] = [drawIndex(draw, 8), drawIndex(draw, 8), drawIndex(draw, 7) - 1];
      const near = (sum: number): unknown => expect.closeTo(sum, 3);
      expect(moveDelta(assignment, a, to)).toEqual(near(total(assignment.with(a, to)).total - before.total));
      const swapped = assignment.with(a, assignment[b]!).with(b, assignment[a]!);
      expect(swapDelta(assignment, a, b)).toEqual(near(total(swapped).total - before.total));
    }
    expect(hasStarved).toBe(true);
    const found = plan(problem, { ...OPTIONS, effort: 20_000, partial: true });
    expect(total(found.assignment).total).toBeCloseTo(found.cost.total, 3);
    expect(found.cost.total).toBeGreaterThanOrEqual(found.lowerBound - 1e-6);
  }
});

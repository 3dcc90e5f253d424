import { seeded } from "@isochrone/primitives";
import { expect, test } from "vitest";
import { ClusterGraph } from "@isochrone/topology";
import type { Channel } from "@isochrone/topology";
import { channel, handWorked } from "../../testing/problems.ts";
import { CostField } from "../objective/cost-field.ts";
import { problemOn } from "./core-problem.ts";
import { createObjective } from "../objective/objective.ts";
import { plan } from "./plan.ts";
import type { Plan, PlanOptions } from "./plan.ts";
import type { PlanNode, PlanPod, PlanProblem } from "../objective/plan-problem.ts";
import { limitRules } from "../rules/limit-rule.ts";
import { drawIndex, shuffle } from "./draws.ts";
import { randomProblem } from "../testing/instances.ts";
import type { InstanceSize } from "../testing/instances.ts";
import { faultsOf } from "../testing/verdict.ts";

function planned(problem: PlanProblem, options: Partial<PlanOptions> = {}): Plan {
  return plan(problem, { seed: 1, now: () => 0, deadlineMs: 1, effort: 10_000, ...options });
}

function* problems(count: number): Generator<PlanProblem> {
  const draw = seeded(9);
  for (let seed = 1; seed <= count; seed++) {
    const size: InstanceSize = {
      pods: 2 + drawIndex(draw, 16),
      nodes: 2 + drawIndex(draw, 24),
      zones: 1 + drawIndex(draw, 4),
      tightness: 0.2 + 0.7 * draw(),
      nearest: seed % 3 === 0 ? 0.5 : 0,
      constraints: 0.5,
    };
    yield randomProblem(seed, size);
  }
}

test("plans keep every rule, cost what they say, are never worse than greedy, and never better than the bound", () => {
  const seen = { complete: 0, incomplete: 0 };
  for (const problem of problems(40)) {
    const found = planned(problem, { partial: true });
    expect(faultsOf(problem, found.assignment)).toEqual([]);
    const judged = createObjective(problem).total(found.assignment);
    expect(found.cost.total).toBeCloseTo(judged.total, 3);
    expect(Number.isFinite(found.cost.total) && found.cost.total >= 0).toBe(true);
    expect(found.unplaced.map(({ pod }) => pod)).toEqual(
      [...found.assignment.keys()].filter((pod) => found.assignment[pod] === -1),
    );
    seen[found.complete ? "complete" : "incomplete"]++;
    if (!found.complete) continue;
    expect(found.cost.total).toBeGreaterThanOrEqual(found.lowerBound * (1 - 1e-9));
    expect(found.cost.total).toBeLessThanOrEqual((found.greedyCost ?? Infinity) * (1 + 1e-9));
  }
  // Checks that instances cover all kinds.
  expect(seen.complete).toBeGreaterThan(25);
  expect(seen.incomplete).toBeGreaterThan(0);
});

test("the order of nodes makes no difference", () => {
  const draw = seeded(3);
  for (const problem of problems(6)) {
    const order = [...problem.nodes.keys()];
    shuffle(order, draw);
    const shuffled = problemOn(problem, Int32Array.from(order));
    const [a, b] = [planned(problem), planned(shuffled)];
    expect(b.cost.total).toBeCloseTo(a.cost.total, 6);
    expect(b.assignment.map((node) => (node < 0 ? -1 : order[node]!))).toEqual(a.assignment);
  }
});

test("equal seeds give equal plans", () => {
  const problem = randomProblem(4, { pods: 16, nodes: 20 });
  expect(planned(problem, { seed: 7 })).toEqual(planned(problem, { seed: 7 }));
});

test("the deadline ends the search, but not before there is a plan", () => {
  const problem = randomProblem(4, { pods: 16, nodes: 20, constraints: 0 });
  const late = planned(problem, { now: () => 5, deadlineMs: 1 });
  expect(late).toMatchObject({ complete: true, ended: "deadline", tries: 0 });
  let ticks = 0;
  const some = planned(problem, { now: () => ++ticks, deadlineMs: 200, effort: 1e9 });
  expect(some).toMatchObject({ complete: true, ended: "deadline" });
  expect(some.cost.total).toBeLessThanOrEqual(late.cost.total);
});

test("a pod that no node has room for is named with the reason; others are placed only when a partial plan is asked for", () => {
  const problem = randomProblem(4, { pods: 6, nodes: 5, constraints: 0 });
  const giant = {
    ...problem.pods[2]!,
    demand: Float64Array.of(1e9, 1, 1),
    allowed: Uint8Array.of(1, 1, 0, 1, 1),
  };
  const pods = problem.pods.with(2, giant);
  const whole = planned({ ...problem, pods });
  expect(whole).toMatchObject({ complete: false, ended: "infeasible" });
  expect([...whole.assignment]).toEqual([-1, -1, -1, -1, -1, -1]);
  const reason = "0/5 nodes are available: 4 insufficient cpu, 1 not allowed.";
  expect(whole.unplaced).toEqual([{ pod: 2, reason }]);
  const partial = planned({ ...problem, pods }, { partial: true });
  expect(partial.unplaced).toEqual([{ pod: 2, reason }]);
  expect(partial.assignment.filter((node) => node >= 0)).toHaveLength(5);
});

test("a pod that only a rule stands against is named with that rule", () => {
  const problem = randomProblem(4, { pods: 3, nodes: 2, constraints: 0, tightness: 0.2 });
  const pods = problem.pods.map((pod) => ({ ...pod, allowed: null }));
  const apart = {
    kind: "apart" as const,
    name: "anti-affinity of shop/web",
    domainOf: Int32Array.of(0, 1),
    placed: new Int32Array(2),
    subjects: [0, 1, 2],
    members: [0, 1, 2],
  };
  const found = planned({ ...problem, pods, constraints: [apart] });
  expect(found.complete).toBe(false);
  expect(found.unplaced).toEqual([
    { pod: expect.any(Number), reason: "0/2 nodes are available: 2 against anti-affinity of shop/web." },
  ]);
});

/** p -> q 1 B/s with limits, r -> p 500 B/s; q on n2, r on n3; n1-n2 10, n1-n3 40, n2-n3 25 ms. */
function limited(limits: Partial<Channel>, pods: readonly PlanPod[]): PlanProblem {
  const { cluster, workflow } = handWorked({}, [channel("p", "q", 1, limits), channel("r", "p", 500)]);
  const nodes = ["n1", "n2", "n3"].map((name): PlanNode => {
    return { name, zone: null, region: null, free: Float64Array.of(9), allocatable: Float64Array.of(9) };
  });
  return {
    nodes,
    pods,
    resources: ["cpu"],
    constraints: [],
    cluster: cluster.graph!,
    workflow: workflow.graph!,
  };
}

function pod(workload: string, allowed: Uint8Array | null = null): PlanPod {
  const demand = Float64Array.of(1);
  return { namespace: "shop", name: `${workload}-1`, workload, demand, allowed, current: -1 };
}

const limitNames = (limits: Partial<Channel>): string[] => {
  const problem = limited(limits, [pod("p")]);
  return limitRules(problem, new CostField(problem)).map(({ rule }) => rule.name);
};

test("a declared maxNetworkCost is kept, to pods that stand and to pods that are planned", () => {
  const nodeOf = (problem: PlanProblem): number => planned(problem).assignment[0]!;
  expect(nodeOf(limited({}, [pod("p")]))).toBe(2);
  expect(nodeOf(limited({ maxNetworkCost: 15 }, [pod("p")]))).toBe(1);
  expect(nodeOf(limited({ maxNetworkCost: 30 }, [pod("p")]))).toBe(2);
  const onFirst = pod("q", Uint8Array.of(1, 0, 0));
  expect(nodeOf(limited({ maxNetworkCost: 30 }, [pod("p"), onFirst]))).toBe(1);
  const never = planned(limited({ maxNetworkCost: 5 }, [pod("p", Uint8Array.of(1, 0, 1))]));
  expect(never.unplaced[0]!.reason).toBe(
    "0/3 nodes are available: 2 against maxNetworkCost of channel p -> q, 1 not allowed.",
  );
  expect(limitNames({ maxNetworkCost: 9_999 })).toHaveLength(1);
  expect(limitNames({ maxNetworkCost: 10_000 })).toEqual([]);
});

test("without any known cost the plan follows the load", () => {
  const problem = randomProblem(4, { pods: 4, nodes: 4, constraints: 0, tightness: 0.1 });
  const { nodes } = problem.cluster;
  const cluster = new ClusterGraph({
    version: 1,
    observedAt: "",
    windowSeconds: 30,
    nodes: [...nodes],
    links: [],
  });
  const found = planned({ ...problem, cluster });
  expect(found).toMatchObject({ complete: true, networkKnown: false });
  expect(found.cost.network).toBe(0);
  expect(found.cost.pressure).toBeGreaterThan(0);
});

test("nothing to plan is planned", () => {
  const problem = randomProblem(4, { pods: 4, nodes: 4 });
  const nothing = { ...problem, pods: [], constraints: [] };
  expect(planned(nothing)).toMatchObject({ complete: true, cost: { total: 0 } });
  const nowhere = problemOn({ ...problem, constraints: [] }, new Int32Array(0));
  const found = planned(nowhere);
  expect(found.complete).toBe(false);
  expect(found.unplaced[0]!.reason).toBe("0/0 nodes are available: there is no node.");
});

test("in a large cluster the long search looks at few nodes, and still keeps every rule", () => {
  const problem = randomProblem(2, { pods: 20, nodes: 700, zones: 5, constraints: 0.2 });
  const found = planned(problem, { effort: 600_000 });
  expect(found.complete).toBe(true);
  expect(found.tries).toBeGreaterThan(10);
  expect(faultsOf(problem, found.assignment)).toEqual([]);
  expect(found.cost.total).toBeLessThan(found.greedyCost!);
});

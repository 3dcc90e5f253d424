import { seeded } from "@isochrone/primitives";
import { expect, test } from "vitest";
import type { Channel, WorkflowGraph } from "@isochrone/topology";
import {
  channel,
  handWorked,
  link,
  links,
  node,
  problem as placementProblem,
  workload,
} from "../../testing/problems.ts";
import { createObjective } from "./objective.ts";
import type { PlanNode, PlanPod, PlanProblem } from "./plan-problem.ts";
import { drawIndex } from "../search/draws.ts";
import { randomProblem } from "../testing/instances.ts";

function planPod(name: string, workload: string | null, cpu = 100): PlanPod {
  return { namespace: "shop", name, workload, demand: Float64Array.of(cpu), allowed: null, current: -1 };
}

function planNode(name: string, zone: string | null = null, free = 1_000): PlanNode {
  return { name, zone, region: null, free: Float64Array.of(free), allocatable: Float64Array.of(1_000) };
}

/** p of the hand-worked example: q on n2, r on n3; n1-n2 10, n1-n3 40, n2-n3 25 ms. */
function planned(pods: PlanPod[], fields: Partial<PlanProblem> = {}): PlanProblem {
  const { cluster, workflow } = handWorked();
  return {
    nodes: [planNode("n1"), planNode("n2"), planNode("n3")],
    pods,
    resources: ["cpu"],
    constraints: [],
    cluster: cluster.graph!,
    workflow: workflow.graph!,
    ...fields,
  };
}

const NO_PRESSURE = { pressureShare: 0 };

test("a pod pays for what it sends and for what is sent to it", () => {
  const { total } = createObjective(planned([planPod("p-1", "p")]), NO_PRESSURE);
  expect(total(Int32Array.of(0)).network).toBeCloseTo(1_000 * 10 + 500 * 40, 9);
  expect(total(Int32Array.of(1)).network).toBeCloseTo(500 * 25, 9);
  expect(total(Int32Array.of(2)).network).toBeCloseTo(1_000 * 25, 9);
  expect(total(Int32Array.of(-1)).network).toBe(0);
});

test("replicas share a channel evenly, placed and pending ones alike", () => {
  const pods = [planPod("p-1", "p"), planPod("p-2", "p")];
  const { total } = createObjective(planned(pods), NO_PRESSURE);
  // Half of both channels each: p-1 on n1, p-2 on n2.
  expect(total(Int32Array.of(0, 1)).network).toBeCloseTo((1_000 * 10 + 500 * 40 + 500 * 25) / 2, 9);
});

test("planned pods pay for each other once, and where the graph shows them doesn't count", () => {
  const pods = [planPod("p-1", "p"), planPod("q-1", "q")];
  const { total } = createObjective(planned(pods), NO_PRESSURE);
  expect(total(Int32Array.of(0, 0)).network).toBeCloseTo(500 * 40, 9);
  expect(total(Int32Array.of(0, 2)).network).toBeCloseTo(1_000 * 40 + 500 * 40, 9);
});

test("replicas of a workload that talks to itself pay both ways, never to themselves", () => {
  const { workflow } = handWorked({}, [channel("p", "p", 900)]);
  const pods = ["p-1", "p-2", "p-3"].map((name) => planPod(name, "p"));
  const { total } = createObjective(planned(pods, { workflow: workflow.graph! }), NO_PRESSURE);
  // Nine ordered pairs of 100 B/s, three of them of a pod with itself.
  expect(total(Int32Array.of(0, 1, 2)).network).toBeCloseTo(100 * 2 * (10 + 40 + 25), 9);
  expect(total(Int32Array.of(1, 1, 1)).network).toBe(0);
});

test("a decision that the graph doesn't show counts as placed", () => {
  const assumed = [{ workload: "q", name: "q-2", node: "n3" }];
  const { total } = createObjective(planned([planPod("p-1", "p")], { assumed }), NO_PRESSURE);
  expect(total(Int32Array.of(0)).network).toBeCloseTo(500 * 10 + 500 * 40 + 500 * 40, 9);
});

test("unknown costs count as the median known one, unreachable as the worst, and the other direction stands in", () => {
  const { cluster, workflow } = placementProblem(
    [node("n1", null, null), node("n2", null, null), node("n3", null, null)],
    [link("n2", "n1", 10), ...links(["n1", "n3", 40])],
    [
      workload("p", { cpu: null, memory: null }, {}),
      workload("q", { cpu: null, memory: null }, { "q-1": "n2" }),
    ],
    [channel("p", "q", 1)],
  );
  const graphs = { cluster: cluster.graph!, workflow: workflow.graph! };
  const { total } = createObjective(planned([planPod("p-1", "p")], graphs), NO_PRESSURE);
  expect(total(Int32Array.of(0)).network).toBe(10);
  expect(total(Int32Array.of(2)).network).toBe(40);
});

test("traffic to the nearest goes to the replicas of the caller's node, then its zone, then to all", () => {
  const zones = { n1: "a", n2: "a", n3: "b" } as const;
  const routed = (scopes?: Channel["routingScopes"]): WorkflowGraph =>
    placementProblem(
      [],
      [],
      [
        workload("p", { cpu: null, memory: null }, {}),
        workload("q", { cpu: null, memory: null }, { "q-1": "n2", "q-2": "n3" }),
      ],
      [
        channel("p", "q", 100, {
          routing: "nearest",
          ...(scopes === undefined ? {} : { routingScopes: scopes }),
        }),
      ],
    ).workflow.graph!;
  const { graph } = placementProblem(
    (["n1", "n2", "n3"] as const).map((name) => node(name, null, null, { zone: zones[name] })),
    links(["n1", "n2", 10], ["n1", "n3", 40], ["n2", "n3", 25]),
    [],
    [],
  ).cluster;
  const nodes = (["n1", "n2", "n3"] as const).map((name) => planNode(name, zones[name]));
  const cost = (workflow: WorkflowGraph, at: number): number =>
    createObjective(planned([planPod("p-1", "p")], { nodes, workflow, cluster: graph! }), NO_PRESSURE).total(
      Int32Array.of(at),
    ).network;
  expect(cost(routed(), 0)).toBeCloseTo(100 * 10, 9);
  expect(cost(routed(), 2)).toBe(0);
  expect(cost(routed(["region"]), 2)).toBeCloseTo(100 * (25 / 2), 9);
});

test("load costs the square of the utilisation at which it is added, as a share of the traffic at the median cost", () => {
  const pods = [planPod("p-1", "p", 1_000)];
  const objective = createObjective(planned(pods, { nodes: [planNode("n1"), planNode("n2", null, 500)] }), {
    pressureShare: 0.3,
  });
  // 1,500 B/s at the median of 25 ms. The mean square from idle to full is 1/3, from half to 1.5 it is (1.5^3
  // - 0.5^3) / 3.
  expect(objective.total(Int32Array.of(0)).pressure).toBeCloseTo((0.3 * 1_500 * 25) / 3, 6);
  expect(objective.total(Int32Array.of(1)).pressure).toBeCloseTo((0.3 * 1_500 * 25 * 3.25) / 3, 6);
});

test("where no traffic is known, declared priorities stand in; where none is declared, all channels are alike", () => {
  const { workflow } = handWorked({}, [channel("p", "q", null, { priority: 50 }), channel("r", "p", null)]);
  const { total } = createObjective(
    planned([planPod("p-1", "p")], { workflow: workflow.graph! }),
    NO_PRESSURE,
  );
  expect(total(Int32Array.of(0)).network).toBeCloseTo(50 * 10 + 40, 9);
});

test("a declared priority stands in for no more than the largest of the relationship types", () => {
  const { workflow } = handWorked({}, [channel("p", "q", null, { priority: 1e12 }), channel("r", "p", null)]);
  const { total } = createObjective(
    planned([planPod("p-1", "p")], { workflow: workflow.graph! }),
    NO_PRESSURE,
  );
  expect(total(Int32Array.of(0)).network).toBeCloseTo(100 * 10 + 40, 9);
});

test("channels without bytes count by their requests", () => {
  const { workflow } = handWorked({}, [channel("p", "q", null, { requestsPerSecond: 3 })]);
  const { total } = createObjective(planned([planPod("p-1", "p")], { workflow: workflow.graph! }), {
    ...NO_PRESSURE,
    bytesPerRequest: 1_000,
  });
  expect(total(Int32Array.of(0)).network).toBeCloseTo(3_000 * 10, 9);
});

test("what a running pod uses where it is doesn't count against it", () => {
  const running = { ...planPod("p-1", "p", 600), current: 0 };
  const nodes = [planNode("n1", null, 400), planNode("n2")];
  const objective = createObjective(planned([running], { nodes }), { pressureShare: 0.3 });
  expect(objective.total(Int32Array.of(0)).pressure).toBeCloseTo(
    objective.total(Int32Array.of(1)).pressure,
    9,
  );
});

test("a move's and a swap's delta are the differences of totals", () => {
  const draw = seeded(5);
  for (let seed = 1; seed <= 12; seed++) {
    const problem = randomProblem(seed, { pods: 8, nodes: 6, nearest: 0.4 });
    const { total, moveDelta, swapDelta } = createObjective(problem);
    for (let round = 0; round < 20; round++) {
      const assignment = Int32Array.from({ length: 8 }, () => drawIndex(draw, 7) - 1);
      const before = total(assignment).total;
      const [a, b, to] = [drawIndex(draw, 8), drawIndex(draw, 8), drawIndex(draw, 7) - 1];
      expect(moveDelta(assignment, a, to)).toBeCloseTo(total(assignment.with(a, to)).total - before, 3);
      const swapped = assignment.with(a, assignment[b]!).with(b, assignment[a]!);
      expect(swapDelta(assignment, a, b)).toBeCloseTo(total(swapped).total - before, 3);
    }
  }
});

test.each([
  ["bytesPerRequest", -1],
  ["pressureShare", Number.NaN],
])("%s of %d is refused by name and value", (name, value) => {
  expect(() => createObjective(planned([]), { [name]: value })).toThrow(
    `${name} of a plan must be 0 or more, got ${value}`,
  );
});

// Isochrone and the optimum on small clusters, worked out by hand or by brute force.
import { seededRandom } from "@isochrone/runtime";
import { describe, expect, test } from "vitest";
import type { Point } from "../scenario/model.ts";
import { placementCost } from "./cost.ts";
import { expectedOf } from "./expected.ts";
import { IsochroneContender } from "./isochrone.ts";
import { OptimumContender } from "./optimum.ts";
import type { Observation, Placement, PodMove } from "./port.ts";
import { movesBetween, podsOf } from "./pods.ts";
import { aCluster, aNode, aPoint, aWorkload, DEPS, observed } from "./testing/points.ts";

const random = seededRandom(1);

function moved(placement: Placement, moves: readonly PodMove[]): Map<string, string> {
  return new Map([...placement, ...moves.map(({ pod, to }) => [pod, to] as const)]);
}

describe("what a placement costs", () => {
  const point = aPoint(aCluster([aNode("a"), aNode("b")], 10), [
    aWorkload("web", ["db"], { replicas: 2 }),
    aWorkload("db"),
  ]);
  const before = observed(point, [["web", "db", 1_000]]);
  const on = (...nodes: readonly string[]): Placement =>
    new Map(podsOf(point).map(({ name }, index) => [name, nodes[index]!]));

  test("is bytes per second times milliseconds, shared by the replicas", () => {
    expect(placementCost(point, before, on("a", "a", "a")).network).toBe(0);
    expect(placementCost(point, before, on("a", "b", "a")).network).toBeCloseTo(5_000);
    expect(placementCost(point, before, on("b", "b", "a")).network).toBeCloseTo(10_000);
  });

  test("and more where nodes are fuller of what pods use, whatever they request", () => {
    const idle = placementCost(point, observed(point, [["web", "db", 1_000]], 10), on("a", "a", "a"));
    const busy = placementCost(point, observed(point, [["web", "db", 1_000]], 600), on("a", "a", "a"));
    const even = placementCost(point, observed(point, [["web", "db", 1_000]], 600), on("a", "b", "a"));
    expect(busy.pressure).toBeGreaterThan(10 * idle.pressure);
    expect(even.pressure).toBeLessThan(busy.pressure);
  });
});

test("what is to be expected follows from the calls", () => {
  const call = { requestBytes: 500, responseBytes: 1_500, probability: 0.5 };
  const point = aPoint(aCluster([aNode("a"), aNode("b")]), [
    aWorkload("web", [], { replicas: 2, calls: [{ ...call, callee: "db" }] }),
    aWorkload("db", [], { cpuMs: 4 }),
  ]);
  const at = { ...point, workflow: { ...point.workflow, usersAt: "b" } };
  // 10 users send one request per second each; every other request reaches the database.
  const { use, traffic } = expectedOf(at);
  expect(use.get("web")!.cpuMillicores).toBe(5);
  expect(use.get("db")!.cpuMillicores).toBe(20);
  expect(traffic).toEqual([
    { source: "web", target: "db", requestsPerSecond: 5, bytesPerSecond: 10_000 },
    { source: "users", target: "web", requestsPerSecond: 10, bytesPerSecond: 20_000 },
  ]);
});

describe("isochrone", () => {
  const nodes = [aNode("a"), aNode("b"), aNode("c"), aNode("d")];

  test("says which kube-scheduler decides beside it", () => {
    expect(new IsochroneContender(DEPS).by).toMatch(/ an imitation of kube-scheduler 1\.35 for /);
    const kubeScheduler = { version: "1.35.8", schedule: () => Promise.resolve(new Map<string, string>()) };
    expect(new IsochroneContender({ ...DEPS, kubeScheduler }).by).toMatch(/ kube-scheduler 1\.35\.8 for /);
  });

  test("plans a workflow that never ran by its declared channels, to where it is pinned", async () => {
    const point = aPoint(aCluster(nodes, 20), [
      aWorkload("web", ["api"]),
      aWorkload("api", ["db"]),
      aWorkload("db", [], { pinnedTo: "c" }),
    ]);
    const contender = new IsochroneContender(DEPS);
    const placement = await contender.place(point, null, random);
    expect([...placement.values()]).toEqual(["c", "c", "c"]);
  });

  test("keeps the replicas of a workload on two nodes, as the planner's defaults say", async () => {
    const point = aPoint(aCluster(nodes, 20), [
      aWorkload("web", ["db"], { replicas: 3 }),
      aWorkload("db", [], { pinnedTo: "c" }),
    ]);
    const placement = await new IsochroneContender(DEPS).place(point, null, random);
    expect(new Set(["web-0", "web-1", "web-2"].map((pod) => placement.get(pod))).size).toBe(2);
  });

  test("leaves pods to kube-scheduler of which nobody knows whom they talk to", async () => {
    const point = aPoint(aCluster(nodes, 20), [aWorkload("batch", [], { replicas: 4 })]);
    const placement = await new IsochroneContender(DEPS).place(point, null, random);
    expect(new Set(placement.values()).size).toBe(4);
  });

  test("moves replicas that another node serves better, one of a workload at a time, until nothing gains", async () => {
    const point = aPoint(aCluster(nodes, 20), [
      aWorkload("web", ["api"], { replicas: 2 }),
      aWorkload("api", [], { replicas: 2 }),
    ]);
    const before = observed(point, [["web", "api", 100_000]]);
    const contender = new IsochroneContender(DEPS);
    let placement: Placement = new Map([
      ["web-0", "a"],
      ["web-1", "b"],
      ["api-0", "c"],
      ["api-1", "d"],
    ]);
    const first = placementCost(point, before, placement).network;
    let rounds = 0;
    for (; rounds < 10; rounds++) {
      const moves = await contender.adjust(point, placement, before);
      if (moves.length === 0) break;
      expect(new Set(moves.map(({ pod }) => pod.slice(0, 3))).size).toBe(moves.length);
      placement = moved(placement, moves);
    }
    expect(rounds).toBeGreaterThan(0);
    expect(rounds).toBeLessThan(10);
    // Both on two nodes: each pair of pods shares a node in half of the cases, which is the minimum.
    expect(placementCost(point, before, placement).network).toBeCloseTo(first / 2);
  });

  test("brings a workflow that may move to the node where its users come in, once their traffic was seen", async () => {
    const pair = aPoint(aCluster(nodes, 20), [aWorkload("web", ["api"]), aWorkload("api")]);
    const point: Point = { ...pair, workflow: { ...pair.workflow, usersAt: "d", movesSingleReplicas: true } };
    const before = observed(point, [
      ["web", "api", 50_000],
      ["users", "web", 100_000],
    ]);
    const contender = new IsochroneContender(DEPS);
    let placement: Placement = new Map([
      ["web-0", "a"],
      ["api-0", "a"],
    ]);
    for (let round = 0; round < 5; round++)
      placement = moved(placement, await contender.adjust(point, placement, before));
    expect([...placement.values()]).toEqual(["d", "d"]);
  });

  test.each([
    [undefined, 2],
    [1, 1],
  ])("keeps replicas in %s zones (by default 2) when it moves them", async (minZones, zones) => {
    const near = (name: string, zone: string) => aNode(name, { zone, region: zone });
    const cluster = aCluster(
      [near("a1", "a"), near("a2", "a"), near("b1", "b"), near("b2", "b")],
      [
        [0, 1, 40, 40],
        [1, 0, 40, 40],
        [40, 40, 0, 1],
        [40, 40, 1, 0],
      ],
    );
    const pair = aPoint(cluster, [
      aWorkload("web", ["api"], { replicas: 2 }),
      aWorkload("api", [], { pinnedTo: "a1" }),
    ]);
    const point: Point = {
      ...pair,
      workflow: { ...pair.workflow, ...(minZones === undefined ? {} : { minZones }) },
    };
    const before = observed(point, [["web", "api", 1e6]]);
    const contender = new IsochroneContender(DEPS);
    let placement: Placement = new Map([
      ["web-0", "b1"],
      ["web-1", "a2"],
      ["api-0", "a1"],
    ]);
    for (let round = 0; round < 5; round++)
      placement = moved(placement, await contender.adjust(point, placement, before));
    expect(new Set(["web-0", "web-1"].map((pod) => placement.get(pod)!.slice(0, 1))).size).toBe(zones);
    expect(new Set(["web-0", "web-1"].map((pod) => placement.get(pod))).size).toBe(2);
  });

  test("leaves a workload's only replica alone, as the descheduler does", async () => {
    const point = aPoint(aCluster(nodes, 20), [aWorkload("web", ["db"]), aWorkload("db")]);
    const placement = new Map([
      ["web-0", "a"],
      ["db-0", "b"],
    ]);
    const before = observed(point, [["web", "db", 1e6]]);
    expect(await new IsochroneContender(DEPS).adjust(point, placement, before)).toEqual([]);
  });
});

describe("optimum", () => {
  const nodes = [aNode("a"), aNode("b"), aNode("c")];
  const rttMs = [
    [0, 5, 40],
    [5, 0, 30],
    [40, 30, 0],
  ];
  const steady = aPoint(aCluster(nodes, rttMs), [
    aWorkload("web", ["api", "cart"]),
    aWorkload("api", ["db"]),
    aWorkload("cart", ["db"]),
    aWorkload("db", [], { pinnedTo: "c" }),
  ]);
  /** The scenario changes its calls, so the observation counts. */
  const shifting = (point: Point, caller: string, callee: string): Point => ({
    ...point,
    changes: [{ kind: "call-probability", atSeconds: 1, caller, callee, probability: 0.5 }],
  });
  const point = shifting(steady, "web", "api");
  /** Two of them fill a node. */
  const before = observed(
    point,
    [
      ["web", "api", 50_000],
      ["web", "cart", 20_000],
      ["api", "db", 80_000],
      ["cart", "db", 10_000],
    ],
    900,
  );

  test("is the cheapest of all placements whose nodes hold what pods use", { timeout: 30_000 }, async () => {
    const placement = await new OptimumContender(DEPS).place(point, before, random);
    expect(placementCost(point, before, placement).total).toBeCloseTo(cheapest(point, before, 2), 3);
  });

  test("moves from a worse placement in one round, and is content then", { timeout: 30_000 }, async () => {
    const contender = new OptimumContender(DEPS);
    const start = new Map([
      ["web-0", "c"],
      ["api-0", "a"],
      ["cart-0", "b"],
      ["db-0", "c"],
    ]);
    const moves = await contender.adjust(point, start, before);
    expect(moves.length).toBeGreaterThan(0);
    expect(await contender.adjust(point, moved(start, moves), before)).toEqual([]);
  });

  /** Between the databases, 10 ms from either. */
  const between = aPoint(
    aCluster(nodes, [
      [0, 10, 10],
      [10, 0, 20],
      [10, 20, 0],
    ]),
    [
      aWorkload("web", [], {
        calls: ["left", "right"].map((callee, index) => {
          return { callee, requestBytes: 500, responseBytes: 1_500, probability: index === 0 ? 0.2 : 0.18 };
        }),
      }),
      aWorkload("left", [], { pinnedTo: "b" }),
      aWorkload("right", [], { pinnedTo: "c" }),
    ],
  );
  const beside = (node: string): Placement =>
    new Map([
      ["web-0", node],
      ["left-0", "b"],
      ["right-0", "c"],
    ]);
  const seen = (left: number, right: number): Observation => {
    return observed(
      between,
      [
        ["web", "left", left * 2_000],
        ["web", "right", right * 2_000],
      ],
      10,
    );
  };

  test(
    "goes by what the scenario says, not by counts, where no call changes",
    { timeout: 30_000 },
    async () => {
      const expected = await new OptimumContender(DEPS).place(between, null, random);
      expect(expected.get("web-0")).toBe("b");
      // 10 and 28 requests in 10 s instead of 20 and 18; then an impossible chance.
      const contender = new OptimumContender(DEPS);
      expect((await contender.place(between, seen(1, 2.8), random)).get("web-0")).toBe("b");
      expect(await contender.adjust(between, beside("b"), seen(1, 2.8))).toEqual([]);
      expect(await contender.adjust(between, beside("b"), seen(0.1, 9))).toEqual([]);
      const dies: Point = { ...between, changes: [{ kind: "node-down", atSeconds: 1, node: "a" }] };
      expect(await new OptimumContender(DEPS).adjust(dies, beside("b"), seen(0.1, 9))).toEqual([]);
    },
  );

  test(
    "where calls change, it takes counts for a change that chance doesn't give",
    { timeout: 30_000 },
    async () => {
      const changing = shifting(between, "web", "left");
      // Half of the expected share exceeds 30 %, but stays within four deviations of 20 requests.
      const noise = new OptimumContender(DEPS);
      expect(await noise.adjust(changing, beside("b"), seen(1, 2.8))).toEqual([]);
      let questions = 0;
      const clock = { monotonic: (): number => ++questions };
      const change = new OptimumContender({ ...DEPS, clock });
      const moves = [{ pod: "web-0", from: "b", to: "c" }];
      expect(await change.adjust(changing, beside("b"), seen(0.1, 9))).toEqual(moves);
      // Settled: one request in 10 s, then six. The difference of two intervals varies more than one interval
      // from its mean, so nothing is solved again.
      const asked = questions;
      expect(await change.adjust(changing, beside("c"), seen(0.6, 9))).toEqual([]);
      expect(questions).toBe(asked);
      expect(await change.adjust(changing, beside("c"), seen(9, 0.1))).toEqual([
        { pod: "web-0", from: "c", to: "b" },
      ]);
    },
  );

  test("stands by the users, whom it knows to be at a node", { timeout: 30_000 }, async () => {
    const chain = aPoint(aCluster(nodes, rttMs), [aWorkload("web", ["api"]), aWorkload("api")]);
    const away = { ...chain, workflow: { ...chain.workflow, usersAt: "c" } };
    const placement = await new OptimumContender(DEPS).place(away, null, random);
    expect([...placement.values()]).toEqual(["c", "c"]);
  });

  test("says what it can't solve", async () => {
    const crowd = Array.from({ length: 50 }, (_, index) =>
      aWorkload(`w${index}`, index < 49 ? [`w${index + 1}`] : []),
    );
    const large = new OptimumContender(DEPS).place(aPoint(aCluster(nodes), crowd), null, random);
    await expect(large).rejects.toThrow("unsolved: it has 150 pairs of a pod and a node");
    const tooBusy = new OptimumContender(DEPS).place(
      point,
      observed(point, [["web", "api", 1]], 1_900),
      random,
    );
    await expect(tooBusy).rejects.toThrow("unsolved: no placement holds what the pods need");
  });

  test("replicas that are alike stay where they can", () => {
    const two = aPoint(aCluster(nodes), [aWorkload("web", [], { replicas: 3 })]);
    const on = (...where: readonly string[]): Placement =>
      new Map(where.map((node, index) => [`web-${index}`, node]));
    expect(movesBetween(two, on("a", "b", "a"), on("b", "a", "c"))).toEqual([
      { pod: "web-2", from: "a", to: "c" },
    ]);
  });
});

/** @param most maximum pods per node */
function cheapest(point: Point, before: Observation, most: number): number {
  const pods = podsOf(point);
  const names = point.cluster.nodes.map(({ name }) => name);
  let least = Infinity;
  for (let code = 0; code < names.length ** pods.length; code++) {
    const placement = new Map(
      pods.map(({ name }, index) => [name, names[Math.trunc(code / names.length ** index) % names.length]!]),
    );
    const isPinned = pods.every(
      ({ name, pinnedTo }) => pinnedTo === null || placement.get(name) === pinnedTo,
    );
    const counts = names.map((node) => [...placement.values()].filter((other) => other === node).length);
    if (!isPinned || Math.max(...counts) > most) continue;
    least = Math.min(least, placementCost(point, before, placement).total);
  }
  return least;
}

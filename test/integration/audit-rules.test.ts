import { readStatement } from "@isochrone/cli/testing";
import { seededRandom } from "@isochrone/runtime";
import type { Departures } from "@isochrone/topology";
import { departureTexts, downText } from "@isochrone/topology/findings";
import { describe, expect, test } from "vitest";
import { countedMovesAreTrue, flightIsTrue, markIsTrue, outcomeIsTrue } from "../harness/audit/api-rules.ts";
import { auditedPod as pod } from "../harness/audit/audited-pod.ts";
import { drawFaults } from "../harness/audit/faults.ts";
import {
  figureIsTrue,
  moveMeasuredIsTrue,
  networkSavingIsTrue,
  networkTimeIsTrue,
  verdictIsSame,
} from "../harness/audit/load-rules.ts";
import {
  countIsTrue,
  failedIsTrue,
  movedIsTrue,
  movingIsTrue,
  stillMovingIsTrue,
  TOLD_WITHIN_MS,
  unanswered,
  untold,
} from "../harness/audit/move-rules.ts";
import {
  bestPlanIsTrue,
  costIsTrue,
  deadIsTrue,
  lossIsTrue,
  savedIsTrue,
} from "../harness/audit/network-rules.ts";
import { NetworkTruth } from "../harness/audit/network-truth.ts";
import { concernIsKnown, happenedIsKnown, planTileIsTrue } from "../harness/audit/page-rules.ts";
import { PodLives } from "../harness/audit/pod-lives.ts";

const DEPARTURES: Departures = {
  pairs: (["latency", "loss"] as const).map((kind) => ({
    source: "a",
    target: "b",
    kind,
    since: "2026-01-01T00:00:00Z",
    now: 0.05,
    before: 0.00004,
    error: 0,
    acceptedAt: "2026-01-01T01:00:00Z",
    workloads: [],
  })),
  counts: { latency: 1, loss: 1 },
  common: [{ kind: "loss", since: "2026-01-01T00:00:00Z", pairs: 20, all: 28 }],
};
const T0 = Date.parse("2026-01-01T00:00:00Z");

/** m1 leaves n1 at 10 s, and is ready elsewhere at 14 s. */
function moved(to: string): PodLives {
  const lives = new PodLives();
  lives.take([pod("m1-5f-a", "n1")], T0);
  lives.take([pod("m1-5f-a", "n1", { terminating: true })], T0 + 10_000);
  lives.take([pod("m1-5f-b", to, { ready: false })], T0 + 12_000);
  lives.take([pod("m1-5f-b", to)], T0 + 14_000);
  lives.take([pod("m1-5f-b", to)], T0 + 25_000);
  return lives;
}

const WAY = { workload: "m1", from: "n1", to: "n2" };
const ANNOUNCED = { ...WAY, atMs: T0 + 10_000 };
const SAID_MS = T0 + 15_000;

describe("moved", () => {
  test("is true once the replacement is ready on the announced target", () =>
    expect(movedIsTrue(WAY, SAID_MS, moved("n2"), ANNOUNCED)).toBeNull());

  test("may be said of a pod whose replacement was ready before it left", () => {
    const lives = new PodLives();
    lives.take([pod("m1-5f-a", "n1")], T0);
    lives.take([pod("m1-5f-a", "n1"), pod("m1-5f-b", "n2")], T0 + 8_000);
    lives.take([pod("m1-5f-a", "n1", { terminating: true }), pod("m1-5f-b", "n2")], T0 + 12_000);
    expect(movedIsTrue(WAY, SAID_MS, lives, ANNOUNCED)).toBeNull();
    expect(lives.replacements().map(({ old, next }) => [old.node, next.node])).toEqual([["n1", "n2"]]);
  });

  test.each([
    ["the same node", { ...WAY, to: "n1" }, moved("n1"), null, /did not change/],
    ["no replacement", { ...WAY, to: null }, moved("n2"), null, /no replacement/],
    ["another node", { ...WAY, to: "n3" }, moved("n2"), null, /ready on n3/],
    ["another origin", { ...WAY, from: "n9" }, moved("n2"), null, /left n9/],
    ["another target", WAY, moved("n2"), { ...ANNOUNCED, to: "n3" }, /announced target was n3/],
  ])("is false with %s", (_, way, lives, announced, evidence) =>
    expect(movedIsTrue(way, SAID_MS, lives, announced)).toMatch(evidence),
  );

  test("is false before the replacement is ready", () => {
    const lives = new PodLives();
    lives.take([pod("m1-5f-a", "n1")], T0);
    lives.take([pod("m1-5f-b", "n2", { ready: false })], T0 + 10_000);
    expect(movedIsTrue(WAY, T0 + 10_000, lives, null)).toMatch(/ready on n2/);
  });
});

describe("moving", () => {
  test("is true of a pod that is there", () => expect(movingIsTrue(WAY, T0 + 5_000, moved("n2"))).toBeNull());
  test.each([
    ["to where it is", { ...WAY, to: "n1" }],
    ["nowhere", { ...WAY, to: null }],
    ["from where it isn't", { ...WAY, from: "n7" }],
  ])("is false %s", (_, way) => expect(movingIsTrue(way, T0 + 5_000, moved("n2"))).not.toBeNull());

  test("must end in a word", () => {
    expect(unanswered([ANNOUNCED], ANNOUNCED.atMs + TOLD_WITHIN_MS)).toEqual([]);
    expect(unanswered([ANNOUNCED], ANNOUNCED.atMs + TOLD_WITHIN_MS + 1)).toEqual([ANNOUNCED]);
  });
});

describe("a failed move", () => {
  const failure = { workload: "m1", from: "n1", to: "n3", target: "n2" };
  test.each([
    [failure, moved("n3"), true],
    [failure, moved("n2"), false],
    [{ ...failure, to: "n2" }, moved("n2"), false],
    [{ ...failure, to: "n1" }, moved("n1"), true],
    [{ ...failure, to: "n1" }, moved("n2"), false],
    [{ ...failure, to: null }, moved("n2"), false],
    [{ ...failure, from: "n9" }, moved("n3"), false],
  ])("%o", (said, lives, isTrue) => expect(failedIsTrue(said, T0 + 60_000, lives) === null).toBe(isTrue));
});

test("a move that is said to be under way has not arrived", () => {
  const lives = moved("n2");
  expect(stillMovingIsTrue(WAY, T0 + 11_000, lives)).toBeNull();
  expect(stillMovingIsTrue(WAY, T0 + 60_000, lives)).toMatch(/has arrived/);
});

test("a change of node that nobody tells is found, and a stay is none", () => {
  const [there] = moved("n2").replacements();
  const [stay] = moved("n1").replacements();
  const laterMs = there!.old.endedMs! + 60_000;
  expect(untold(there!, [], laterMs)).toMatch(/nothing was said/);
  expect(untold(there!, [], laterMs - 1)).toBeNull();
  expect(untold(there!, [{ ...WAY, atMs: SAID_MS }], laterMs)).toBeNull();
  expect(untold(there!, [{ ...WAY, to: "n3", atMs: SAID_MS }], laterMs)).not.toBeNull();
  expect(untold(stay!, [], laterMs)).toBeNull();
});

test("a sentence counts the pods that it names", () => {
  const ways = [{ workloads: ["m1", "m2"], from: "a", to: "b" }];
  expect(countIsTrue(2, ways)).toBeNull();
  expect(countIsTrue(3, ways)).toMatch(/2 pods/);
});

describe("the decisions API", () => {
  const decision = (result: string, best: string, node: string | null) => ({
    pod: { namespace: "default", name: "m1-5f-a" },
    workload: "m1",
    best,
    at: new Date(T0 + 10_000).toISOString(),
    outcome: { at: new Date(T0 + 15_000).toISOString(), result, node, reason: null },
  });
  test.each([
    ["on_target", "n2", "n2", "n2", true],
    ["on_target", "n2", "n2", "n3", false],
    ["on_target", "n1", "n1", "n1", false],
    ["elsewhere", "n2", "n3", "n3", true],
    ["elsewhere", "n2", "n2", "n2", false],
    ["withdrawn", "n2", "n1", "n2", false],
    ["lost", "n2", null, "n3", true],
    ["miraculous", "n2", null, "n2", false],
  ] as const)("says %s: target %s, stated %s, ran on %s: %s", (result, best, node, ran, isTrue) => {
    const verdict = outcomeIsTrue(decision(result, best, node), moved(ran));
    expect(verdict === null).toBe(isTrue);
  });

  test("counts at most as many moves as pods that changed their node", () => {
    expect(countedMovesAreTrue(1, moved("n2"))).toBeNull();
    expect(countedMovesAreTrue(1, moved("n1"))).not.toBeNull();
  });

  test("has moves in flight that lead somewhere", () => {
    const flight = { name: "m1-5f-a", from: "n1", to: "n2" };
    expect(flightIsTrue(flight, moved("n2"))).toBeNull();
    expect(flightIsTrue({ ...flight, to: "n1" }, moved("n2"))).not.toBeNull();
    expect(flightIsTrue({ ...flight, from: "n5" }, moved("n2"))).not.toBeNull();
  });

  test("marks moves that happened", () => {
    const mark = { ...WAY, at: new Date(SAID_MS).toISOString() };
    expect(markIsTrue(mark, moved("n2"))).toBeNull();
    expect(markIsTrue({ ...mark, to: "n1" }, moved("n1"))).not.toBeNull();
    expect(markIsTrue(mark, moved("n3"))).not.toBeNull();
  });
});

/** n1 and n2 are 1 ms apart, n3 is 20 ms from both. From 100 s on, n1 - n2 is slow. */
function network(slowMs = 80): NetworkTruth {
  const truth = new NetworkTruth();
  const nodes = ["n1", "n2", "n3"];
  const matrix = (near: number | null): (number | null)[][] => [
    [0, near, 20],
    [near, 0, 20],
    [20, 20, 0],
  ];
  truth.take({ atMs: T0, nodes, rttMs: matrix(1) });
  truth.take({ atMs: T0 + 100_000, nodes, rttMs: matrix(slowMs < 0 ? null : slowMs) });
  return truth;
}

describe("links", () => {
  const link = (costMs: number | null, more: { errorMs?: number | null; lossRatio?: number } = {}) => ({
    source: "n1",
    target: "n2",
    costMs,
    errorMs: null,
    lossRatio: 0,
    origin: "measured" as const,
    rttMs: { p50: costMs, p90: null, p99: null, mean: null, count: 9 },
    ...more,
  });
  test("a cost is within its error of the emulator's round trip", () => {
    expect(costIsTrue(link(1.3), T0 + 50_000, network())).toBeNull();
    expect(costIsTrue(link(37.8), T0 + 50_000, network())).toMatch(/37.8 ms without an error/);
    expect(costIsTrue(link(37.8, { errorMs: 40 }), T0 + 50_000, network())).toBeNull();
    expect(costIsTrue(link(6, { errorMs: 1 }), T0 + 50_000, network())).toMatch(/± 1.0/);
    // The window contains both values.
    expect(costIsTrue(link(40), T0 + 130_000, network())).toBeNull();
    expect(costIsTrue(link(1.3), T0 + 190_000, network())).not.toBeNull();
    expect(costIsTrue(link(null), T0 + 190_000, network())).toBeNull();
  });

  test("dead is what was cut", () => {
    const dead = link(null, { lossRatio: 1 });
    expect(deadIsTrue(dead, T0 + 190_000, network(-1))).toBeNull();
    expect(deadIsTrue(dead, T0 + 190_000, network())).toMatch(/never cut/);
    expect(costIsTrue(link(5), T0 + 190_000, network(-1))).toMatch(/was cut/);
  });

  test("lost is what the emulator loses", () => {
    const lossy = link(1, { lossRatio: 0.3 });
    expect(lossIsTrue(lossy, T0 + 50_000, network())).toMatch(/lose 30 %/);
    const truth = network();
    truth.setLoss("n1", "n2", 0.25);
    expect(lossIsTrue(lossy, T0 + 50_000, truth)).toBeNull();
  });
});

describe("best plans", () => {
  const channels = [{ source: "m1", target: "m2", bytesPerSecond: 100 }] as unknown as Parameters<
    typeof bestPlanIsTrue
  >[2];
  const today = new Map([
    ["m1", "n1"],
    ["m2", "n3"],
  ]);
  const plan = (node: string, savedRatio: number, from = "n3") => ({
    savedRatio,
    cost: { network: 1 },
    pods: [{ name: "m2-a", workload: "m2", from, node }],
  });
  const at = [today, channels, T0 + 50_000, network()] as const;
  test("cost less in truth", () => {
    expect(bestPlanIsTrue(plan("n2", 0.9), ...at)).toBeNull();
    expect(
      bestPlanIsTrue(plan("n2", 0.9), new Map([...today, ["m2", "n1"]]), channels, T0, network()),
    ).toMatch(/by the emulator/);
    expect(bestPlanIsTrue(plan("n3", 0.9), ...at)).toMatch(/where it is/);
    expect(bestPlanIsTrue({ ...plan("n2", 0), pods: [] }, ...at)).toBeNull();
  });
  test("leave out moves that can't be made now", () => {
    const [pod] = plan("n1", 0).pods;
    expect(
      bestPlanIsTrue({ ...plan("n3", 0), pods: [{ ...pod!, obstacle: "too young" }] }, ...at),
    ).toBeNull();
  });
  test("are never said to cost more than today", () =>
    expect(bestPlanIsTrue(plan("n2", -0.795), ...at)).toMatch(/79.5 % more than today/));
  test("save what they are said to save", () => {
    expect(savedIsTrue(plan("n2", 0.95), ...at)).toBeNull();
    expect(savedIsTrue(plan("n3", 0.95, "n1"), ...at)).toMatch(/95 % is said/);
  });
});

describe("requests", () => {
  const points = [30, 40, 55].map((p50Ms, index) => ({
    at: new Date(T0 + 2_000 * index).toISOString(),
    requests: 50,
    errors: index === 2 ? 10 : 0,
    p50Ms,
    p95Ms: 3 * p50Ms,
  }));
  test("took what the load generator recorded", () => {
    expect(figureIsTrue("p50Ms", 45, points, T0 + 5_000)).toBeNull();
    expect(figureIsTrue("p50Ms", 20, points, T0 + 5_000)).toMatch(/30 to 55 ms/);
    expect(figureIsTrue("p50Ms", 90, points, T0 + 5_000)).not.toBeNull();
    expect(figureIsTrue("p50Ms", 45, points, T0 + 999_000)).toMatch(/no request/);
    // Ten-second parts with too few requests for a p95 bound the total p95 only by their median.
    const slowOnly = points.map((point, index) => ({ ...point, p95Ms: index === 0 ? 5_000 : null }));
    expect(figureIsTrue("p95Ms", 1_400, slowOnly, T0 + 5_000)).toBeNull();
    expect(figureIsTrue("p95Ms", 9, slowOnly, T0 + 5_000)).not.toBeNull();
  });
  test("of a move took what is said of before and after", () => {
    const said = (text: string) => readStatement(text) as Parameters<typeof moveMeasuredIsTrue>[0];
    const text = (after: number, failed: number): string =>
      `the move of m1 brought p50 50 ms -> ${after} ms (-9 %), p95 150 ms -> 100 ms (-33 %), failed requests 0 % -> ${failed} %`;
    expect(moveMeasuredIsTrue(said(text(32, 0)), points, T0 + 5_000)).toBeNull();
    expect(moveMeasuredIsTrue(said(text(3, 0)), points, T0 + 5_000)).not.toBeNull();
    expect(moveMeasuredIsTrue(said(text(32, 70)), points, T0 + 5_000)).toMatch(/70 %/);
  });
  test("spend what the emulator has on the network", () => {
    const trueMs = { low: 400, high: 420 };
    expect(networkTimeIsTrue(430, trueMs, true)).toBeNull();
    expect(networkTimeIsTrue(900, trueMs, true)).not.toBeNull();
    expect(networkTimeIsTrue(900, trueMs, false)).toBeNull();
    expect(networkTimeIsTrue(20, trueMs, false)).not.toBeNull();
  });
  test("are said to save of it what the emulator saves", () => {
    const actMs = new Map([
      ["first", 2_000],
      ["better", 680],
      ["worse", 2_100],
    ]);
    expect(networkSavingIsTrue({ act: "better", networkPercent: -68 }, actMs)).toBeNull();
    expect(networkSavingIsTrue({ act: "better", networkPercent: -90 }, actMs)).toMatch(/-66 %/);
    expect(networkSavingIsTrue({ act: "worse", networkPercent: -5 }, actMs)).not.toBeNull();
    expect(networkSavingIsTrue({ act: "worse", networkPercent: null }, actMs)).toBeNull();
  });
  test("are the same in a row of the verdict as when they were measured", () => {
    const placed = { kind: "placed", act: "x", p50Ms: 1, p95Ms: 2, networkMs: 3, isClaimed: true } as const;
    const row = { ...placed, kind: "verdict", letter: "a", networkPercent: null } as const;
    expect(verdictIsSame(row, placed)).toBeNull();
    expect(verdictIsSame({ ...row, p95Ms: 9 }, placed)).toMatch(/p95Ms/);
    expect(verdictIsSame(row, null)).not.toBeNull();
  });
});

describe("the page", () => {
  test("says what would be saved only where the emulator agrees", () => {
    expect(planTileIsTrue("nothing", 3)).toBeNull();
    expect(planTileIsTrue("12.4 ms", 14)).toBeNull();
    expect(planTileIsTrue("207 ms", -4)).toMatch(/-4/);
    expect(planTileIsTrue("plenty", 4)).toMatch(/no known form/);
  });
  test("has concerns of known forms", () => {
    for (const text of [
      "3 of the last 50 requests failed",
      "2 pairs of nodes without an answer, such as a → b",
      "a gets no answer from b",
      "a → b lost 1.8 % of the newest packets",
      "2 pairs of nodes lose packets: a → b lost < 0.1 % of the newest packets",
      "a ↔ b: 60 ms since 14:35:02, 1.3 before; nothing talks over it",
      "a ↔ b loses 4.7 % of packets since 14:35:02, 0 % before; shop/web -> shop/db talks over it",
      "20 of 28 pairs of nodes are slower than before since 14:35:02: the machines, or the whole network",
      "The slowest chain of calls of sample takes 207 ms on the network; 20 ms would do",
      "All calls of a request of sample take 1.2 s together; 900 ms would do",
      downText("a", { cause: "not_ready", since: null, pods: 7, podsNotRunning: 2 }),
      downText("a", { cause: "not_ready", since: null, pods: 1, podsNotRunning: 1 }),
      downText("a", { cause: "not_ready", since: "2026", pods: 1, podsNotRunning: 0 }, () => "14:35:02"),
      downText("a", { cause: "silent", since: "2026", pods: null, podsNotRunning: null }, () => "14:35:02"),
      ...departureTexts(DEPARTURES, { arrow: "↔", timeOf: () => "14:35:02" }).map(({ text }) => text),
      "No new answers from the probe of 2 nodes: a, b",
      "No CPU and memory usage of 5 nodes: a, b, c and 2 more",
      "Some peers don't answer: a → b, b → a, c → d and 3 more",
      "The newest graph is 61 s old",
      "1 record never came",
      "12 points of the last window are in no graph: unknown pod (12)",
    ])
      expect([text, concernIsKnown(text)]).toEqual([text, true]);
    expect(concernIsKnown("Something is odd")).toBe(false);
  });
  test("tells what happened in known forms", () => {
    for (const text of [
      "3 pods moved",
      "m1: a → b",
      "m1: a → b, moving",
      "m1: a → b failed, it stays on a",
      "a ↔ b: 1.2 ms → 80 ms",
      "a ↔ b: loses 5 %",
      "a is killed",
    ])
      expect([text, happenedIsKnown(text)]).toEqual([text, true]);
    expect(happenedIsKnown("m1 went to b")).toBe(false);
  });
});

test("drawn faults follow the seed, are healed in time, and kill one node at most", () => {
  for (let seed = 1; seed <= 50; seed++) {
    const drawn = drawFaults(5, 600_000, seededRandom(seed));
    expect(drawn).toEqual(drawFaults(5, 600_000, seededRandom(seed)));
    expect(drawn.filter(({ kind }) => kind === "dead-node").length).toBeLessThan(2);
    for (const [index, { atMs, healedAtMs }] of drawn.entries()) {
      expect(atMs).toBeGreaterThanOrEqual(drawn[index - 1]?.healedAtMs ?? 0);
      expect(healedAtMs).toBeGreaterThan(atMs);
      expect(healedAtMs).toBeLessThan(600_000);
    }
  }
  const all = Array.from({ length: 20 }, (_, seed) => drawFaults(5, 1, seededRandom(seed))).flat();
  expect(new Set(all.map(({ kind }) => kind)).size).toBe(5);
});

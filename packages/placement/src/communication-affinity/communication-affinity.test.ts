import type { Channel } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import type { PlacementProblem } from "../scoring/problem.ts";
import { allCandidates } from "../scoring/score-table.ts";
import type { ScoreTable } from "../scoring/score-table.ts";
import { channel, handWorked, link, links, node, problem, workload } from "../testing/problems.ts";
import { CommunicationAffinity } from "./communication-affinity.ts";
import type { CommunicationAffinityOptions } from "./communication-affinity.ts";
import { ChannelTypes } from "./channel-types.ts";

const HALF = { alpha: 0.5, beta: 0.01, gamma: 2 };
const raw = new CommunicationAffinity("raw", { parameters: HALF });
const normalized = new CommunicationAffinity("normalized");
const use = { cpu: 1, memory: 1 };
const rounded = (column: Float64Array | null): number[] =>
  [...column!].map((value) => Number(value.toFixed(6)));
const typed = (relationshipType: string, fields: Partial<Channel> = {}): Partial<Channel> => ({
  relationshipType,
  ...fields,
});
const CHANNELS = [channel("p", "q", 1_000, typed("HTTPRoute")), channel("r", "p", 500, typed("AMQPRoute"))];

describe("Algorithm 1, worked by hand", () => {
  // pScore(n2) = 0.5 x 100 + 0.01 x 1000 = 60; pScore(n3) = 0.5 x 5 + 0.01 x 500 = 7.5.
  test("raw is the paper's own sum", () => {
    const table = raw.score(handWorked({}, CHANNELS));
    // n1: 60 / 10 + 7.5 / 40; n2: 2 x 60 + 7.5 / 25; n3: 60 / 25 + 2 x 7.5.
    expect(rounded(table.raw)).toEqual([6.1875, 120.3, 17.4]);
    expect(rounded(table.parts["priority"]!)).toEqual([10.125, 200.2, 14]);
    expect(rounded(table.parts["traffic"]!)).toEqual([112.5, 2_020, 1_040]);
    expect(rounded(table.score)).toEqual([0, 100, Number(((100 * 11.2125) / 114.1125).toFixed(6))]);
    expect(table.explanation).toMatchObject({ best: "n2", decidedBy: "priority" });
  });

  test.each([
    [{ alpha: 1, beta: 0, gamma: 0 }, [10.125, 0.2, 4]],
    [{ alpha: 0, beta: 1, gamma: 1 }, [112.5, 1_020, 540]],
    [{ alpha: 2, beta: 0.5, gamma: 0.01 }, [76.5, 17.4, 30.6]],
  ])("with parameters %j too", (parameters, expected) => {
    const table = new CommunicationAffinity("raw", { parameters }).score(handWorked({}, CHANNELS));
    expect(rounded(table.raw)).toEqual(expected);
  });

  test("raw counts each placed neighbour with all of the channel, and once where a workload talks to itself", () => {
    const workloads = [workload("p", use, { "p-2": "n1" }), workload("q", use, { "q-1": "n2", "q-2": "n2" })];
    const both = [channel("p", "q", 1_000, typed("HTTPRoute")), channel("p", "p", 300, { priority: 8 })];
    const table = raw.score(
      problem([node("n1", 1, 1), node("n2", 1, 1)], links(["n1", "n2", 10]), workloads, both),
    );
    // pScore(n2) = 2 x 60, pScore(n1) = 0.5 x 8 + 0.01 x 300 = 7.
    expect(rounded(table.raw)).toEqual([26, 240.7]);
  });

  // 10 on the own node; priority n1: 100 / 10 + 5 / 40, n2: 1000 + 5 / 25, n3: 100 / 25 + 50; traffic alike.
  test("normalized brings both parts to 0..1", () => {
    const table = normalized.score(handWorked({}, CHANNELS));
    expect(rounded(table.parts["priority"]!)).toEqual([10.125, 1_000.2, 54]);
    expect(rounded(table.parts["traffic"]!)).toEqual([112.5, 10_020, 5_040]);
    const n3 = 50 * ((54 - 10.125) / (1_000.2 - 10.125)) + 50 * ((5_040 - 112.5) / (10_020 - 112.5));
    expect(rounded(table.score)).toEqual([0, 100, Number(n3.toFixed(6))]);
  });

  test("normalized shares a channel out over its replicas", () => {
    const workloads = [
      workload("p", use, { "p-1": null, "p-2": "n1" }),
      workload("q", use, { "q-1": "n2", "q-2": null }),
    ];
    const table = normalized.score(
      problem([node("n1", 1, 1), node("n2", 1, 1)], links(["n1", "n2", 10]), workloads, [CHANNELS[0]!]),
    );
    expect(rounded(table.parts["priority"]!)).toEqual([5, 500]);
    expect(rounded(table.parts["traffic"]!)).toEqual([25, 2_500]);
  });

  test("normalized sends callers to the nearest replica where the channel says so", () => {
    const zones = ["A", "A", "B"].map((zone, index) => node(`n${index + 1}`, 1, 1, { zone }));
    const near = channel("p", "q", 900, { priority: 6, routing: "nearest" });
    const called = channel("q", "p", 900, { priority: 6, routing: "nearest" });
    const workloads = [workload("p", use, {}), workload("q", use, { "q-1": "n1", "q-2": "n3" })];
    const between = links(["n1", "n2", 10], ["n1", "n3", 40], ["n2", "n3", 25]);
    const priority = (one: Channel, all = workloads): number[] =>
      rounded(normalized.score(problem(zones, between, all, [one])).parts["priority"]!);
    expect(priority(near)).toEqual([60, 0.6, 60]);
    expect(priority(called)).toEqual([30 + 3 / 40, 3 / 10 + 3 / 25, 30 + 3 / 40]);
    // A sibling on n3 keeps its caller. It shares the caller on n1 with a candidate that is no nearer.
    const sibling = [workload("p", use, { "p-2": "n3" }), workloads[1]!];
    expect(priority(called, sibling)).toEqual([30, 3 / 10, 15 + 3 / 40 / 2]);
  });
});

describe("the priority of a channel", () => {
  const priorityOf = (fields: Partial<Channel>, options: CommunicationAffinityOptions = {}): number => {
    const strategy = new CommunicationAffinity("normalized", options);
    const table = strategy.score(handWorked({}, [channel("p", "q", 1, fields)]));
    return (table.parts["priority"]?.[1] ?? 0) / 10;
  };

  test.each([
    ["is that of its type", typed("gRPCRoute"), 50],
    ["is its own where it has one", typed("gRPCRoute", { priority: 7 }), 7],
    ["is 0 without either", {}, 0],
    [
      "is that of a synchronous one where requests are seen and no type is declared",
      { requestsPerSecond: 3 },
      25,
    ],
    [
      "is that of the base type when nobody knows its type",
      typed("CarrierPigeon", { requestsPerSecond: 3 }),
      0,
    ],
  ])("%s", (_, fields, expected) => {
    expect(priorityOf(fields)).toBe(expected);
  });

  test("follows the user's types", () => {
    const channelTypes = ChannelTypes.parse("PriorityRoute=3, MQTTRoute<AsynchronousRoute=2");
    expect(priorityOf(typed("MQTTRoute"), { channelTypes })).toBe(2);
    expect(priorityOf({}, { channelTypes })).toBe(3);
  });

  test("of an unknown type is told", () => {
    const all = [channel("p", "q", 1, typed("CarrierPigeon")), channel("r", "p", 1, { priority: 1 })];
    expect(normalized.score(handWorked({}, all)).explanation.sentences.join(" ")).toContain(
      "Nobody declared the relationship types CarrierPigeon",
    );
  });

  test("in raw isn't guessed from requests", () => {
    const table = raw.score(handWorked({}, [channel("p", "q", 5, { requestsPerSecond: 9 })]));
    expect(table.parts["priority"]).toBeNull();
  });
});

describe("latencies", () => {
  const nodes = ["a", "b", "c"].map((name) => node(name, 1, 1));
  const onC = (between: ReturnType<typeof link>[], calling = true): PlacementProblem =>
    problem(
      nodes,
      between,
      [workload("p", use, {}), workload("q", use, { "q-1": "c" })],
      [calling ? channel("p", "q", null, { priority: 12 }) : channel("q", "p", null, { priority: 12 })],
    );
  const priority = (strategy: CommunicationAffinity, each: PlacementProblem): number[] =>
    rounded(strategy.score(each).parts["priority"] ?? null);
  const lopsided = [link("a", "c", 3), link("c", "a", 4), link("b", "c", 2)];

  test("are from the scored node in raw, as the paper has them", () => {
    expect(priority(raw, onC(lopsided))).toEqual([4, 6, 24]);
    expect(priority(raw, onC(lopsided, false))).toEqual([4, 6, 24]);
  });

  test("are in the direction of the exchange in normalized, or in the other where that isn't known", () => {
    expect(priority(normalized, onC(lopsided))).toEqual([4, 6, 120]);
    expect(priority(normalized, onC(lopsided, false))).toEqual([3, 6, 120]);
  });

  test("that nobody knows count as the median known one, and it is told", () => {
    const table = raw.score(onC([link("a", "c", 3), link("a", "b", 5), link("b", "a", 4)]));
    expect(rounded(table.parts["priority"]!)).toEqual([4, 3, 24]);
    expect(table.explanation.sentences.join(" ")).toContain(
      "1 network costs were unknown and counted as the median known cost, 4.000 ms",
    );
  });

  test("of 0 aren't divided by: raw takes a microsecond, normalized nothing nearer than the node itself", () => {
    const zero = onC([link("a", "c", 0), link("b", "c", 0.01)]);
    expect(priority(raw, zero)).toEqual([12_000, 1_200, 24]);
    expect(priority(normalized, zero)).toEqual([120, 120, 120]);
  });

  test("of unreachable pairs are infinite: they draw nothing", () => {
    const dead = link("b", "c", null, { lossRatio: 1 });
    expect(priority(normalized, onC([link("a", "c", 3), dead]))).toEqual([4, 0, 120]);
  });

  test("without any known one both parts are neutral", () => {
    const table = normalized.score(onC([]));
    expect(table.explanation.neutral[0]).toEqual({ part: "priority", reason: "no network cost is known" });
    expect([...table.score]).toEqual([50, 50, 50]);
  });
});

test.each([raw, normalized])(
  "no priority counts for more than the largest of the types, and that is told",
  (strategy) => {
    const of = (priority: number): ScoreTable =>
      strategy.score(
        handWorked({}, [channel("p", "q", 1_000, { priority }), channel("r", "p", 500, { priority: 50 })]),
      );
    const [absurd, largest] = [of(1e12), of(100)];
    expect([...absurd.score]).toEqual([...largest.score]);
    expect(absurd.parts["priority"]).toEqual(largest.parts["priority"]);
    const told = "Priorities beyond 100, the largest of the relationship types, counted as it: p -> q";
    expect(absurd.explanation.sentences.join(" ")).toContain(told);
    expect(largest.explanation.sentences.join(" ")).not.toContain("Priorities beyond");
  },
);

describe("what is missing", () => {
  const neutral = (table: ScoreTable): Record<string, string> =>
    Object.fromEntries(table.explanation.neutral.map(({ part, reason }) => [part, reason]));

  test("a cluster graph", () => {
    const table = normalized.score(handWorked({ cluster: { graph: null, reason: "it is stale" } }, CHANNELS));
    expect(neutral(table)).toEqual({ priority: "it is stale", traffic: "it is stale" });
  });

  test("a workflow graph, or a workflow", () => {
    expect(neutral(normalized.score(handWorked({ workflow: { graph: null, reason: "old" } })))).toMatchObject(
      {
        traffic: "old",
      },
    );
    const pod = { namespace: "shop", name: "x", workload: null };
    expect(neutral(normalized.score(handWorked({ pod })))["priority"]).toBe("the pod belongs to no workflow");
  });

  test("a placed neighbour", () => {
    const table = normalized.score(handWorked({}, []));
    expect(neutral(table)["traffic"]).toBe("none of the pods it talks to is placed");
  });

  test("bytes: requests stand in for them in normalized, and in raw the part is neutral", () => {
    const requests = [channel("p", "q", null, { requestsPerSecond: 3, priority: 1 })];
    const table = normalized.score(handWorked({}, requests));
    expect(table.parts["traffic"]![1]).toBe(3 * 2_000 * 10);
    expect(table.explanation.inputs).toMatchObject({ channelsByRequests: 1, bytesPerRequest: 2_000 });
    expect(neutral(raw.score(handWorked({}, requests)))["traffic"]).toContain("not known in bytes");
  });

  test("a candidate in the graph: the neighbour that the graph doesn't know is nowhere but there", () => {
    const q = workload("q", use, { "q-1": "stranger" });
    const each = problem(
      [node("a", 1, 1), node("b", 1, 1)],
      links(["a", "b", 5]),
      [workload("p", use, {}), q],
      [channel("p", "q", 1, { priority: 10 })],
      { candidates: ["a", "stranger"] },
    );
    const table = normalized.score(each);
    expect(rounded(table.score)).toEqual([0, 100]);
    expect(allCandidates(table)[1]).toMatchObject({ raw: null });
  });
});

test.each([
  [{ alpha: -1, beta: 1, gamma: 1 }, /alpha must be a finite number of at least 0, got -1/],
  [{ alpha: 1, beta: Number.NaN, gamma: 1 }, /beta must be .* got NaN/],
  [{ alpha: 1, beta: 1, gamma: Infinity }, /gamma must be .* got Infinity/],
  [{ alpha: 0, beta: 0, gamma: 1 }, /alpha \+ beta must be above 0/],
  [{ alpha: 1, beta: 1, gamma: 0 }, /gamma must be above 0 in mode normalized, got 0/],
])("parameters %j are refused", (parameters, message) => {
  expect(() => new CommunicationAffinity("normalized", { parameters })).toThrow(message);
});

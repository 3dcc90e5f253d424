import type { Candidate, Decision, Peer } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import {
  becauseOf,
  comparedNodes,
  headlineOf,
  isOther,
  nodesOf,
  pairOf,
  peersOf,
  whereOf,
} from "./compare.ts";

const candidate = (name: string, score: number, feasible = true): Candidate => {
  return { name, score, feasible, reason: feasible ? null : "full", raw: null, parts: {} };
};
const decision = (fields: Partial<Decision>): Decision =>
  ({
    pod: { namespace: "shop", name: "p-1" },
    kind: "score",
    best: "n2",
    explanation: ["n2 has the highest score."],
    candidates: [candidate("n1", 10), candidate("n2", 90), candidate("n3", 99, false), candidate("n4", 40)],
    ...fields,
  }) as Decision;
const bound = (node: string | null, fields: Partial<NonNullable<Decision["binding"]>> = {}) =>
  ({ state: "bound", at: null, agreement: "as_chosen", cause: null, reason: null, node, ...fields }) as const;
const eviction = (result?: string, node: string | null = null) => ({
  kind: "eviction",
  strategy: "descheduler",
  binding: bound("n4", { state: "gone", agreement: null }),
  ...(result === undefined ? {} : { outcome: { result, node } }),
});
const peer = (workload: string, node: string, rttMs: Peer["rttMs"]): Peer => {
  return { workload, calling: true, node, pods: 1, requestsPerSecond: 1, bytesPerSecond: null, rttMs };
};

describe("where a pod is said to be", () => {
  test.each([
    [{ binding: bound("n2") }, "n2", null, "p-1 runs on n2, as Isochrone chose."],
    [
      { binding: bound("n4", { agreement: "otherwise" }) },
      "n4",
      "best: n2",
      "p-1 runs on n4; Isochrone would have chosen n2.",
    ],
    [
      { binding: bound("n4", { agreement: "tie" }) },
      "n4",
      "tie",
      "p-1 runs on n4, one of several best nodes.",
    ],
    [
      { binding: bound(null, { state: "pending", agreement: null }) },
      null,
      "not placed yet",
      "p-1 has no node yet; Isochrone would choose n2.",
    ],
    [
      { binding: bound("n4", { state: "gone", agreement: "otherwise" }) },
      "n4",
      "gone, best: n2",
      "p-1 is gone; it ran on n4; Isochrone would have chosen n2.",
    ],
    [{}, null, "not known", "Where p-1 runs isn't known; Isochrone would choose n2."],
    [eviction(), null, "moving from n4 to n2", "p-1 is moving from n4 to n2."],
    [eviction("on_target", "n2"), "n2", "from n4", "p-1 was moved from n4 to n2."],
    [
      eviction("elsewhere", "n3"),
      "n3",
      "move from n4 to n2 failed",
      "The move of p-1 from n4 to n2 failed: its replacement runs on n3.",
    ],
    [
      eviction("withdrawn", null),
      "n4",
      "move from n4 to n2 failed",
      "The move of p-1 from n4 to n2 failed: it stays on n4.",
    ],
    [
      eviction("lost", null),
      null,
      "move from n4 to n2 failed",
      "The move of p-1 from n4 to n2 failed: it had no ready replacement in time.",
    ],
  ])("%j", (fields, node, note, headline) => {
    const made = decision(fields as Partial<Decision>);
    expect(whereOf(made)).toEqual({ node, note });
    expect(headlineOf(made)).toBe(headline);
  });

  test("never the best node in its place, and with the reason why it isn't", () => {
    const made = decision({ binding: bound("n4", { agreement: "otherwise", reason: "n2 got 10." }) });
    expect(becauseOf(made)).toBe("n2 got 10.");
    expect(becauseOf(decision({ binding: bound("n2") }))).toBe("n2 has the highest score.");
  });
});

test("nodes of then and now side by side, feasible ones first", () => {
  const now = { best: "n5", candidates: [candidate("n5", 99), candidate("n2", 20)], peers: [] };
  const rows = nodesOf(
    decision({ binding: bound("n4"), now: now as unknown as NonNullable<Decision["now"]> }),
  );
  expect(
    rows.map(({ name, previous, current }) => [name, previous?.score ?? null, current?.score ?? null]),
  ).toEqual([
    ["n2", 90, 20],
    ["n4", 40, null],
    ["n1", 10, null],
    ["n3", 99, null],
    ["n5", null, 99],
  ]);
  expect(rows.filter(({ isHome }) => isHome).map(({ name }) => name)).toEqual(["n4"]);
  expect(rows.filter(({ isBest }) => isBest).map(({ name }) => name)).toEqual(["n2"]);
  expect(rows.filter(({ isBestNow }) => isBestNow).map(({ name }) => name)).toEqual(["n5"]);
});

test("compared are where it runs, the best, and the worst, four at most", () => {
  const candidates = [90, 80, 70, 60, 50, 0].map((score, index) => candidate(`n${index}`, score));
  expect(comparedNodes(decision({ candidates, best: "n0", binding: bound("n4") }))).toEqual([
    "n4",
    "n0",
    "n1",
    "n5",
  ]);
  expect(comparedNodes(decision({ candidates: [], best: null }))).toEqual([]);
});

test("peers as they are now, each with its round trips of then", () => {
  const then = [peer("q", "n2", { n1: 2 }), peer("r", "n3", { n1: 7 })];
  const now = {
    peers: [peer("q", "n2", { n1: 82 }), peer("r", "n9", { n1: 1 })],
    candidates: [],
    best: null,
  };
  const made = decision({ peers: then, now: now as unknown as NonNullable<Decision["now"]> });
  expect(peersOf(made).map(({ peer: { workload, node }, before }) => [workload, node, before])).toEqual([
    ["q", "n2", { n1: 2 }],
    ["r", "n9", null],
  ]);
  expect(peersOf(decision({ peers: then })).map(({ before }) => before)).toEqual([null, null]);
  expect(pairOf(then[0]!, "n1")).toEqual({ source: "n1", target: "n2" });
  expect(pairOf({ ...then[0]!, calling: false }, "n1")).toEqual({ source: "n2", target: "n1" });
});

test("a round trip is another one when people would notice", () => {
  expect([isOther(2, 82), isOther(82, 2), isOther(2, "unreachable")]).toEqual([true, true, true]);
  expect([isOther(2, 2.2), isOther(100, 110), isOther(null, 5), isOther(undefined, 5)]).toEqual([
    false,
    false,
    false,
    false,
  ]);
});

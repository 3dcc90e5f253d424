import type { Candidate, Decision } from "@isochrone/topology";
import { expect, test } from "vitest";
import { decisionText } from "./decision-text.ts";

const candidate = (name: string, score: number, networkMs: number, network: number): Candidate => {
  return { name, feasible: true, reason: null, raw: network, score, parts: { network }, networkMs };
};
const peer = {
  workload: "q",
  calling: true,
  node: "n2",
  pods: 1,
  requestsPerSecond: 30,
  bytesPerSecond: 1_000,
};
const inputs = { clusterVersion: 1, clusterAgeSeconds: 1, workflowVersion: 1, workflowAgeSeconds: 1 };

const decision: Decision = {
  id: "1",
  kind: "score",
  at: "2026-01-01T00:00:00Z",
  pod: { namespace: "shop", name: "p-1" },
  workflow: "shop/flow",
  workload: "p",
  strategy: "resource-network",
  mode: "normalized",
  inputs,
  explanation: ["n2 has the highest score, 100, before n3 with 60."],
  best: "n2",
  candidates: [candidate("n3", 60, 25, -25_000), candidate("n2", 100, 0, 0)],
  asked: 2,
  binding: {
    state: "bound",
    node: "n3",
    at: "2026-01-01T00:00:01Z",
    agreement: "otherwise",
    cause: "other_scores",
    reason: "n2 got 10 of 10 points from Isochrone, n3 4.",
  },
  peers: [{ ...peer, rttMs: { n2: 0, n3: 25 } }],
};

test("where the pod runs, what would have been chosen and why not; network time before raw sums", () => {
  expect(decisionText(decision)).toBe(`shop/p-1 runs on n3; Isochrone would have chosen n2.
n2 got 10 of 10 points from Isochrone, n3 4.

Decided 2026-01-01T00:00:00Z by resource-network (normalized)
inputs: cluster graph 1 (1.0 s old), workflow graph 1 (1.0 s old)
n2 has the highest score, 100, before n3 with 60.

shop/p-1 talks to (round trip in ms then):
  peer     on  requests/s  from n3 (here)  from n2
  calls q  n2          30              25        0

  node  ms/request  score
* n2             0    100
  n3            25     60  runs here

What the scores then were made of, in the strategy's own units:
  node     raw  network
  n2         0        0
  n3    -25000   -25000`);
});

test("the answer of now stands beside that of then", () => {
  const now = {
    at: "2026-01-01T00:01:00Z",
    inputs,
    explanation: [],
    best: "n3",
    candidates: [candidate("n3", 90, 5, 0), candidate("n2", 10, 82, 0)],
    peers: [{ ...peer, rttMs: { n2: "unreachable" as const, n3: 5 } }],
    links: [],
    changes: ["The link n2 to n4 took 2 ms then and takes 82 ms now."],
  };
  const text = decisionText({ ...decision, now });
  expect(text).toContain("Asked again now:\n- The link n2 to n4 took 2 ms then and takes 82 ms now.");
  expect(text).toContain("(round trip in ms now)");
  expect(text).toMatch(/calls q +n2 +30 +5 +unreachable/);
  expect(text).toMatch(/node +ms\/request then +now +score then +now/);
  expect(text).toMatch(/\* n2 +0 +82 +100 +10\n/);
  expect(text).toMatch(/n3 +25 +5 +60 +90 +runs here/);
  expect(decisionText({ ...decision, now: { ...now, changes: [] } })).toContain(
    "nothing that decides has changed",
  );
});

test.each([
  [
    { binding: { state: "pending", node: null, agreement: null } },
    "p-1 has no node yet; the best node is n2.",
  ],
  [{ binding: { state: "bound", node: "n2", agreement: "as_chosen" } }, "p-1 runs on n2, as chosen."],
  [
    { binding: { state: "bound", node: "n3", agreement: "tie" } },
    "p-1 runs on n3, one of several best nodes.",
  ],
  [
    { binding: { state: "gone", node: "n3", agreement: "otherwise" } },
    "p-1 ran on n3 and is gone; Isochrone",
  ],
  [
    { kind: "eviction", binding: { state: "gone", node: "n3" } },
    "p-1 is moved from n3; the best node is n2.",
  ],
  [{ binding: undefined }, "p-1: it isn't known where it runs; the best node is n2."],
])("%j", (fields, words) => {
  expect(decisionText({ ...decision, ...fields } as Decision)).toContain(words);
});

test("a round trip is shown with its error; a node's to itself has none", () => {
  const peers = [{ ...peer, rttMs: { n2: 0, n3: 25 }, errorMs: { n2: 0, n3: 1.26 } }];
  expect(decisionText({ ...decision, peers })).toContain("25.0 ±1.3");
  expect(decisionText({ ...decision, peers })).not.toContain("±0.0");
});

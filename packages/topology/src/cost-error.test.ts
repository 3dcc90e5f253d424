import { expect, test } from "vitest";
import { ClusterGraph } from "./cluster-graph.ts";
import type { CostOptions } from "./cost.ts";
import type { Link } from "./schema.ts";
import { clusterSnapshot, deadLink, link, node } from "./testing/builders.ts";

const nodes = [node("a"), node("b")];

function errorOf(measured: readonly Link[], options: CostOptions = {}): number {
  return new ClusterGraph(clusterSnapshot(nodes, [...measured], 30), options).errorMsById(0, 1);
}

function rtt(p50: number, p90: number | null, count: number): Link["rttMs"] {
  return { p50, p90, p99: null, mean: p50, count };
}

const untold = { errorMs: null, rttMs: rtt(10, null, 9) };

// 1.609 x (p90 - p50) / sqrt(count): with p50 = 10, p90 = 14 and 64 samples 0.8045.
test.each<[string, readonly Link[], unknown]>([
  ["its link's own", [link("a", "b", 10, { errorMs: 3 })], 3],
  [
    "by how round trips scatter, of a link that tells none",
    [link("a", "b", 10, { errorMs: null, rttMs: rtt(10, 14, 64) })],
    expect.closeTo(0.8045, 6),
  ],
  ["infinite where few round trips tell nothing", [link("a", "b", 10, untold)], Infinity],
  ["infinite on a provisional link", [link("a", "b", 10, { errorMs: 3, provisional: true })], Infinity],
  ["infinite on a provisional link that is dead", [deadLink("a", "b", { provisional: true })], Infinity],
  ["infinite where the cost is unknown", [], Infinity],
  ["infinite where the cost is stale", [link("a", "b", 10, { errorMs: 3, ageSeconds: 91 })], Infinity],
  ["0 on a link that is known to be dead", [deadLink("a", "b")], 0],
  ["0 where somebody declares the cost", [link("a", "b", 10, { ...untold, origin: "declared" })], 0],
  [
    "infinite of an estimate that tells none",
    [link("a", "b", 10, { ...untold, origin: "estimated" })],
    Infinity,
  ],
])("the error of a cost is %s", (_, links, errorMs) => {
  expect(errorOf(links)).toEqual(errorMs);
});

test("the error of a node's cost to itself is 0", () => {
  expect(new ClusterGraph(clusterSnapshot(nodes, [])).errorMsById(1, 1)).toBe(0);
});

test("the error of an estimate by coordinates is the estimate's", () => {
  const at = (name: string, x: number) => node(name, { coordinate: [x, 0] });
  const snapshot = { ...clusterSnapshot([at("a", 0), at("b", 1)], []) };
  const graph = new ClusterGraph(snapshot, { estimate: () => ({ ms: 5, errorMs: 2 }) });
  expect(graph.errorMsById(0, 1)).toBe(2);
});

test("a measured error grows with the age of the snapshot: it is twice as large after a window", () => {
  const measured = [link("a", "b", 10, { errorMs: 3, ageSeconds: 1 })];
  expect(errorOf(measured, { snapshotAgeSeconds: 15 })).toBeCloseTo(4.5, 9);
  expect(errorOf(measured, { snapshotAgeSeconds: 30 })).toBeCloseTo(6, 9);
});

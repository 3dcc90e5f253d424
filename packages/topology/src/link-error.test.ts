import { expect, test } from "vitest";
import { ClusterGraph } from "./cluster-graph.ts";
import type { Link } from "./schema.ts";
import { clusterSnapshot, link, node } from "./testing/builders.ts";

// 1.609 x (p90 - p50) / sqrt(count): with p50 = 10, p90 = 14 and 64 samples 0.8045.
test.each<[string, Partial<Link>, unknown]>([
  ["its own error, where it says one", { errorMs: 3 }, 3],
  ["how its round trips scatter", {}, expect.closeTo(0.8045, 6)],
  ["few round trips, which say nothing of it", { rttMs: rtt(10, null, 9) }, null],
])("a link's cost may be wrong by %s", (_, fields, errorMs) => {
  const measured = link("a", "b", 10, { rttMs: rtt(10, 14, 64), errorMs: null, ...fields });
  const graph = new ClusterGraph(clusterSnapshot([node("a"), node("b")], [measured]));
  expect(graph.errorMsById(0, 1)).toEqual(errorMs);
  expect(graph.errorMsById(1, 0)).toBeNull();
});

function rtt(p50: number, p90: number | null, count: number): Link["rttMs"] {
  return { p50, p90, p99: null, mean: p50, count };
}

import { describe, expect, test } from "vitest";
import { clusterNode, linkOf, snapshotOf } from "../../testing/snapshots.ts";
import { fitInputOf, sameInput, type FitInput } from "./coordinate-samples.ts";

const rows = ({ samples, nodes }: FitInput): string[] =>
  Array.from(
    samples.source,
    (source, row) =>
      `${nodes[source]!.name}${nodes[samples.target[row]!]!.name} ${samples.rttMs[row]} ${samples.count[row]}`,
  );

describe("what coordinates are fitted to", () => {
  test("is the cost of each measured pair by the first method that has one, with its replies", () => {
    const links = [
      linkOf("a", "b", null, { method: "udp_rr" }),
      linkOf("a", "b", 12, { method: "tcp_rr" }),
      linkOf("a", "b", 99, { method: "icmp" }),
      linkOf("b", "a", 14),
      linkOf("b", "c", 3),
    ];
    expect(rows(fitInputOf(snapshotOf(["a", "b", "c"], links)))).toEqual(["ab 12 10", "ba 14 10", "bc 3 10"]);
  });

  test("is nothing estimated or declared, nothing without an answer, no node to itself and no stranger", () => {
    const links = [
      linkOf("a", "a", 1),
      linkOf("a", "b", 5, { origin: "estimated" }),
      linkOf("a", "c", 5, { origin: "declared" }),
      linkOf("a", "ghost", 5),
      linkOf("b", "a", null, { lossRatio: 1 }),
    ];
    expect(rows(fitInputOf(snapshotOf(["a", "b", "c"], links)))).toEqual([]);
  });

  test("tells labels and how far replies spread: jitter is the mean difference of two", () => {
    const nodes = [clusterNode("a", { zone: "z1", region: "r1" }), clusterNode("b")];
    const input = fitInputOf(snapshotOf(nodes, [linkOf("a", "b", 5, { jitterMs: 2 }), linkOf("b", "a", 5)]));
    expect(input.nodes).toEqual([
      { name: "a", zone: "z1", region: "r1" },
      { name: "b", zone: null, region: null },
    ]);
    expect(input.samples.spreadMs[0]).toBeCloseTo(1.7725, 4);
    expect(input.samples.spreadMs[1]).toBeNaN();
  });

  test("has changed with any figure, pair or label, and with nothing else", () => {
    const snapshot = snapshotOf(["a", "b", "c"], [linkOf("a", "b", 5), linkOf("b", "a", 6)]);
    const input = fitInputOf(snapshot);
    const same = snapshotOf(["a", "b", "c"], [linkOf("a", "b", 5, { ageSeconds: 9 }), linkOf("b", "a", 6)]);
    expect(sameInput(input, fitInputOf(same))).toBe(true);
    for (const other of [
      snapshotOf(["a", "b", "c"], [linkOf("a", "b", 5), linkOf("b", "a", 7)]),
      snapshotOf(["a", "b", "c"], [linkOf("a", "b", 5), linkOf("b", "a", 6, { jitterMs: 1 })]),
      snapshotOf(["a", "b", "c"], [linkOf("a", "b", 5), linkOf("b", "c", 6)]),
      snapshotOf(["a", "b", "c"], [linkOf("a", "b", 5)]),
      snapshotOf(["a", "b"], [linkOf("a", "b", 5), linkOf("b", "a", 6)]),
      snapshotOf(["a", clusterNode("b", { zone: "z" }), "c"], snapshot.links),
    ])
      expect(sameInput(input, fitInputOf(other))).toBe(false);
  });
});

import { describe, expect, test } from "vitest";
import { nodeState } from "../testing/cluster.ts";
import { selectPeers } from "./probe-plan.ts";

const RULE = { fullMeshLimit: 32, peers: 10, maxZones: 16 };

const cluster = (count: number, zones = 5) =>
  Array.from({ length: count }, (_, i) => nodeState(`node-${i}`, { region: "r", zone: `z${i % zones}` }));

const names = (nodes: readonly { readonly name: string }[]): string[] => nodes.map(({ name }) => name);

describe("selectPeers", () => {
  test("up to the limit everybody probes everybody else", () => {
    const nodes = cluster(32);
    expect(names(selectPeers(nodes[3]!, nodes, RULE))).toEqual(
      names(nodes).filter((name) => name !== "node-3"),
    );
  });

  test("nodes that aren't ready are no peers, cordoned ones are", () => {
    const nodes = [nodeState("a"), nodeState("b", { ready: false }), nodeState("c", { cordoned: true })];
    expect(names(selectPeers(nodes[0]!, nodes, RULE))).toEqual(["c"]);
  });

  test("beyond the limit a node has about ten peers, and one in each other zone", () => {
    const nodes = cluster(200, 12);
    for (const node of nodes) {
      const peers = selectPeers(node, nodes, RULE);
      expect(peers.length).toBeGreaterThanOrEqual(RULE.peers);
      expect(peers.length).toBeLessThanOrEqual(RULE.peers + 11);
      expect(new Set(peers.map(({ zone }) => zone)).size).toBeGreaterThanOrEqual(11);
      expect(names(peers)).not.toContain(node.name);
    }
  });

  test("the zones that get a representative are bounded", () => {
    const nodes = cluster(300, 100);
    expect(selectPeers(nodes[0]!, nodes, RULE).length).toBeLessThanOrEqual(RULE.peers + RULE.maxZones);
  });

  test("a node that leaves changes the plans of those that probed it only", () => {
    const nodes = cluster(100, 1);
    const left = nodes.filter(({ name }) => name !== "node-50");
    for (const node of left) {
      const before = names(selectPeers(node, nodes, RULE));
      const after = names(selectPeers(node, left, RULE));
      expect(after.filter((name) => !before.includes(name))).toHaveLength(before.includes("node-50") ? 1 : 0);
    }
  });

  test("probes spread over the nodes: none is probed by more than a few times the average", () => {
    const nodes = cluster(200, 1);
    const inDegree = new Map<string, number>();
    for (const node of nodes)
      for (const name of names(selectPeers(node, nodes, RULE)))
        inDegree.set(name, (inDegree.get(name) ?? 0) + 1);
    expect(Math.max(...inDegree.values())).toBeLessThan(3 * RULE.peers);
    expect(inDegree.size).toBe(200);
  });
});

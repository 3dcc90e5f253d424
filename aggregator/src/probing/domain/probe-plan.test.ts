import { describe, expect, test } from "vitest";
import { clusterState, nodeState } from "../../testing/cluster.ts";
import { ProbePlans, type PlanTime } from "./probe-plan.ts";

const RULE = { fullMeshLimit: 32, peers: 10, maxZones: 16, rotationMs: 300_000 };
const NOW_MS = Date.UTC(2026, 10, 21, 12);
const after = (monotonicMs: number): PlanTime => ({ wallMs: NOW_MS, monotonicMs });

const nodesOf = (count: number) =>
  Array.from({ length: count }, (_, i) => nodeState(`n${1000 + i}`, { region: "r", zone: `z${i % 5}` }));

const names = (nodes: readonly { readonly name: string }[]): string[] => nodes.map(({ name }) => name);

describe("ProbePlans", () => {
  test("up to the limit everybody probes everybody else", () => {
    const nodes = nodesOf(32);
    const plans = new ProbePlans(RULE).at(clusterState({ nodes }), after(0));
    expect(names(plans.peersOf("n1003")!)).toEqual(names(nodes).filter((name) => name !== "n1003"));
    expect([plans.node("nobody"), plans.peersOf("nobody")]).toEqual([null, null]);
  });

  test("nodes that aren't ready or are being deleted are no peers, cordoned ones are", () => {
    const nodes = [
      nodeState("a"),
      nodeState("b", { ready: false }),
      nodeState("c", { cordoned: true }),
      nodeState("d"),
    ];
    const plans = new ProbePlans(RULE).at(clusterState({ nodes, leaving: new Set(["d"]) }), after(0));
    expect(names(plans.peersOf("a")!)).toEqual(["c"]);
  });

  test("what doesn't concern probing changes no peer", () => {
    const plans = new ProbePlans(RULE);
    const nodes = nodesOf(200);
    const cordoned = nodes.map((node, index) => ({ ...node, cordoned: index === 5 }));
    const [before, later] = [nodes, cordoned].map((list, index) =>
      plans.at(clusterState({ nodes: list }), after(5_000 * index)),
    );
    for (const { name } of nodes) expect(later!.peersOf(name)).toEqual(before!.peersOf(name));
  });

  test("in a storm peers are chosen anew once a second, but one that isn't ready is left out at once", () => {
    const plans = new ProbePlans(RULE);
    const nodes = nodesOf(200);
    const first = plans.at(clusterState({ nodes }), after(0));
    const [gone, other] = first.peersOf("n1001")!;
    const without = (...missing: string[]) =>
      clusterState({ nodes: nodes.map((node) => ({ ...node, ready: !missing.includes(node.name) })) });
    const once = plans.at(without(gone!.name), after(500)).peersOf("n1001")!;
    expect(names(once)).toEqual(names(first.peersOf("n1001")!).slice(1));
    const twice = plans.at(without(gone!.name, other!.name), after(999)).peersOf("n1001")!;
    expect(names(twice)).toEqual(names(first.peersOf("n1001")!).slice(2));
    const settled = plans.at(without(gone!.name, other!.name), after(1_000)).peersOf("n1001")!;
    expect(names(settled)).toEqual(expect.arrayContaining(names(twice)));
    expect(settled.length).toBeGreaterThanOrEqual(RULE.peers);
  });

  test("a node that came within the second is known, its peers follow", () => {
    const plans = new ProbePlans(RULE);
    plans.at(clusterState({ nodes: nodesOf(200) }), after(0));
    const grown = clusterState({ nodes: nodesOf(201) });
    expect(plans.at(grown, after(500)).node("n1200")?.name).toBe("n1200");
    expect(plans.at(grown, after(500)).peersOf("n1200")).toBeNull();
    expect(plans.at(grown, after(1_000)).peersOf("n1200")!.length).toBeGreaterThanOrEqual(RULE.peers);
  });

  test("the plans of a cluster that is only coming up don't wait", () => {
    const plans = new ProbePlans(RULE);
    for (const count of [1, 10, 32, 200]) {
      const found = plans.at(clusterState({ nodes: nodesOf(count) }), after(count));
      expect(found.peersOf("n1000")!.length).toBeGreaterThanOrEqual(Math.min(count - 1, RULE.peers));
    }
  });

  test("links to a node that stops being ready stay wanted, and so do those that stand in for them", () => {
    const plans = new ProbePlans(RULE);
    const nodes = nodesOf(200);
    const before = plans.at(clusterState({ nodes }), after(0));
    const silent = clusterState({
      nodes: nodes.map((node) => ({ ...node, ready: node.name !== "n1042" })),
    });
    const wanted = plans.wanted(silent, after(2_000));
    const later = plans.at(silent, after(2_000));
    for (const { name } of nodes) {
      for (const peer of [...before.peersOf(name)!, ...later.peersOf(name)!])
        expect(wanted({ source: name, target: peer.name })).toBe(true);
    }
    expect(wanted({ source: "n1001", target: "n1001" })).toBe(false);
    expect(wanted({ source: "n1001", target: "gone" })).toBe(false);
  });
});

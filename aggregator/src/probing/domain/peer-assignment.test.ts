import { describe, expect, test } from "vitest";
import { PeerAssignment } from "./peer-assignment.ts";
import { IN_DEGREE_FACTOR, type PeerRule, type PlanNode } from "./rule.ts";

const RULE: PeerRule = { fullMeshLimit: 32, peers: 10, maxZones: 16, rotationMs: 300_000 };
const NOW_MS = Date.UTC(2026, 10, 21, 12);

type ZoneOf = (index: number) => string | null;

function nodesOf(count: number, zoneOf: ZoneOf = () => null): PlanNode[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `node-${String(index).padStart(4, "0")}`,
    zone: zoneOf(index),
    region: "r",
    eligible: true,
  }));
}

const namesOf = (nodes: readonly PlanNode[]): string[] => nodes.map(({ name }) => name);
const peerNames = (peers: PeerAssignment, name: string, nowMs = NOW_MS): string[] =>
  namesOf(peers.peersOf(name, nowMs));

function difference(before: readonly string[], after: readonly string[]): number {
  return after.filter((name) => !before.includes(name)).length;
}

const ZONES: Readonly<Record<string, ZoneOf>> = {
  "no zones": () => null,
  "three even zones": (index) => `z${index % 3}`,
  "one node alone in its zone": (index) => (index === 7 ? "edge" : `z${index % 3}`),
  "two zones, one of one node": (index) => (index === 0 ? "edge" : "core"),
  "a zone of a fiftieth": (index) => (index % 50 === 0 ? "edge" : "core"),
  "forty zones": (index) => `z${index % 40}`,
  "zones by a power law": (index) => `z${Math.floor(Math.log2(index + 1))}`,
  "a zone per node": (index) => `z${index}`,
  "half without a zone": (index) => (index % 2 === 0 ? null : `z${index % 5}`),
};

describe("in-degree", () => {
  const sizes = [33, 34, 50, 100, 333, 1000, 5000];
  const cases = Object.keys(ZONES).flatMap((zones) => sizes.map((size) => [size, zones] as const));

  test.each(cases)("of %i nodes, %s: at most three times the peers, and everybody has his", (size, zones) => {
    const peers = new PeerAssignment(nodesOf(size, ZONES[zones]), RULE);
    for (const nowMs of [NOW_MS, NOW_MS + 150_000, NOW_MS + 86_400_000]) {
      const { maxInDegree, pairs } = peers.figures(nowMs);
      expect(maxInDegree).toBeLessThanOrEqual(IN_DEGREE_FACTOR * RULE.peers);
      expect(pairs).toBeGreaterThanOrEqual(size * RULE.peers);
      expect(pairs).toBeLessThanOrEqual(size * (RULE.peers + RULE.maxZones));
    }
  });

  test.each([1, 2, 3, 5])("holds for %i peers too, at every moment of a window", (count) => {
    const rule = { ...RULE, peers: count };
    const peers = new PeerAssignment(nodesOf(400, ZONES["one node alone in its zone"]), rule);
    for (let step = 0; step < 20; step++) {
      const { maxInDegree, pairs } = peers.figures(NOW_MS + (step * rule.rotationMs) / 10);
      expect(maxInDegree).toBeLessThanOrEqual(IN_DEGREE_FACTOR * count);
      expect(pairs).toBeGreaterThanOrEqual(400 * count);
    }
  });

  test("holds when a third of the nodes isn't ready and still asks for plans", () => {
    const nodes = nodesOf(600, ZONES["two zones, one of one node"]).map((node, index) => ({
      ...node,
      eligible: index % 3 > 0 || index === 0,
    }));
    const peers = new PeerAssignment(nodes, RULE);
    expect(peers.figures(NOW_MS).maxInDegree).toBeLessThanOrEqual(30);
    for (const { name } of nodes) {
      expect(peers.peersOf(name, NOW_MS).every(({ eligible }) => eligible)).toBe(true);
      expect(peers.peersOf(name, NOW_MS).length).toBeGreaterThanOrEqual(RULE.peers - 1);
    }
  });

  test.each([
    [0, 0],
    [1, 30],
    [12, 30],
    [200, 30],
  ])("holds when of 3,000 nodes only %i are ready", (ready, most) => {
    const nodes = nodesOf(3000, ZONES["three even zones"]).map((node, index) => ({
      ...node,
      eligible: index % 15 === 0 && index / 15 < ready,
    }));
    const { maxInDegree, pairs } = new PeerAssignment(nodes, RULE).figures(NOW_MS);
    expect(maxInDegree).toBeLessThanOrEqual(most);
    expect(pairs).toBeGreaterThanOrEqual(ready * Math.min(ready - 1, RULE.peers));
  });

  test("spreads: without zones nobody is probed by many more than the others", () => {
    const peers = new PeerAssignment(nodesOf(5000), RULE);
    expect(peers.figures(NOW_MS)).toMatchObject({ pairs: 50_000 });
    expect(peers.figures(NOW_MS).maxInDegree).toBeLessThanOrEqual(RULE.peers + 4);
  });
});

describe("zones", () => {
  test("every node has a peer in every other zone, when there are few", () => {
    const peers = new PeerAssignment(
      nodesOf(1000, (index) => `z${index % 12}`),
      RULE,
    );
    for (let index = 0; index < 1000; index++) {
      const [own, found] = [
        `z${index % 12}`,
        peers.peersOf(`node-${String(index).padStart(4, "0")}`, NOW_MS),
      ];
      expect(new Set(found.map(({ zone }) => zone).filter((zone) => zone !== own)).size).toBe(11);
    }
    expect(peers.figures(NOW_MS).uncovered).toEqual({ inDegree: 0, maxZones: 0 });
  });

  test("a zone of one node is probed by as many as may be, and the others are counted", () => {
    const peers = new PeerAssignment(nodesOf(5000, ZONES["one node alone in its zone"]), RULE);
    const { maxInDegree, uncovered } = peers.figures(NOW_MS);
    expect(maxInDegree).toBeGreaterThanOrEqual(25);
    expect(maxInDegree).toBeLessThanOrEqual(30);
    expect(uncovered.maxZones).toBe(0);
    expect(uncovered.inDegree).toBeGreaterThanOrEqual(4999 - 30);
    expect(uncovered.inDegree).toBeLessThanOrEqual(4999 - 17);
  });

  test("who probes such a node isn't decided by the alphabet", () => {
    const nodes = nodesOf(2000, ZONES["two zones, one of one node"]);
    const peers = new PeerAssignment(nodes, RULE);
    const probing = nodes.filter(({ name }) => peers.has(name, "node-0000", NOW_MS));
    expect(Math.max(...probing.map((node) => nodes.indexOf(node)))).toBeGreaterThan(1500);
  });

  test("zones of one name in two regions are two", () => {
    const nodes = nodesOf(100).map((node, index) => ({ ...node, zone: "a", region: `r${index % 2}` }));
    const peers = new PeerAssignment(nodes, { ...RULE, peers: 1, rotationMs: 0 });
    for (const node of nodes) {
      expect(peers.peersOf(node.name, NOW_MS).some(({ region }) => region !== node.region)).toBe(true);
    }
  });

  test("beyond the bound of zones the rest is counted", () => {
    const peers = new PeerAssignment(
      nodesOf(300, (index) => `z${index % 100}`),
      RULE,
    );
    expect(peers.figures(NOW_MS).uncovered.maxZones).toBeGreaterThan(300 * (99 - 16 - 1));
  });
});

describe("rotation", () => {
  const nodes = nodesOf(200, (index) => `z${index % 3}`);
  const peers = new PeerAssignment(nodes, RULE);

  test("in a window each node changes one peer and keeps the others", () => {
    for (const { name } of nodes) {
      const before = peerNames(peers, name);
      const after = peerNames(peers, name, NOW_MS + RULE.rotationMs);
      expect(before).toHaveLength(after.length);
      expect(difference(before, after)).toBeLessThanOrEqual(1);
    }
    const changed = nodes.filter(
      ({ name }) => difference(peerNames(peers, name), peerNames(peers, name, NOW_MS + RULE.rotationMs)) > 0,
    );
    expect(changed.length).toBeGreaterThan(190);
  });

  test("the changes are spread over the window", () => {
    const perTenth = Array.from({ length: 10 }, (_, tenth) => {
      const [from, to] = [tenth, tenth + 1].map((part) => NOW_MS + (part * RULE.rotationMs) / 10);
      return nodes.filter(
        ({ name }) => difference(peerNames(peers, name, from), peerNames(peers, name, to)) > 0,
      ).length;
    });
    expect(perTenth.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(190);
    expect(Math.max(...perTenth)).toBeLessThan(45);
  });

  test("in time a node meets the others", () => {
    const met = new Set<string>();
    for (let window = 0; window < 600; window++) {
      for (const name of peerNames(peers, "node-0000", NOW_MS + window * RULE.rotationMs)) met.add(name);
    }
    expect(met.size).toBeGreaterThan(180);
  });

  test("without rotation plans stay as they are", () => {
    const still = new PeerAssignment(nodes, { ...RULE, rotationMs: 0 });
    for (const { name } of nodes) {
      expect(peerNames(still, name)).toEqual(peerNames(still, name, NOW_MS + 86_400_000));
      expect(peerNames(still, name).length).toBeGreaterThanOrEqual(RULE.peers);
    }
  });
});

describe("churn", () => {
  function churn(before: PeerAssignment, after: PeerAssignment, names: readonly string[]) {
    const changes = names.map((name) => difference(peerNames(before, name), peerNames(after, name)));
    return {
      plans: changes.filter((count) => count > 0).length,
      peers: changes.reduce((sum, count) => sum + count, 0),
      most: Math.max(...changes),
    };
  }

  test.each([
    [1000, "no zones", 12, 12],
    [1000, "three even zones", 25, 30],
    [1000, "one node alone in its zone", 25, 40],
    [5000, "forty zones", 45, 60],
  ] as const)(
    "of %i nodes, %s: one that leaves or joins concerns a few plans",
    (size, zones, plans, added) => {
      const nodes = nodesOf(size, ZONES[zones]);
      const whole = new PeerAssignment(nodes, RULE);
      for (const gone of [3, 500, size - 2]) {
        const rest = nodes.filter((_, index) => index !== gone);
        const without = new PeerAssignment(rest, RULE);
        for (const [before, after] of [
          [whole, without],
          [without, whole],
        ] as const) {
          const found = churn(before, after, namesOf(rest));
          expect(found.plans).toBeGreaterThan(0);
          expect(found.plans).toBeLessThanOrEqual(plans);
          expect(found.peers).toBeLessThanOrEqual(added);
          expect(found.most).toBeLessThanOrEqual(4);
        }
      }
    },
  );

  test("a node that stops being ready is left out at once, as one that leaves", () => {
    const nodes = nodesOf(500, ZONES["three even zones"]);
    const before = new PeerAssignment(nodes, RULE);
    const after = new PeerAssignment(
      nodes.map((node, index) => ({ ...node, eligible: index !== 42 })),
      RULE,
    );
    const others = namesOf(nodes).filter((name) => name !== "node-0042");
    expect(others.some((name) => before.has(name, "node-0042", NOW_MS))).toBe(true);
    expect(others.some((name) => after.has(name, "node-0042", NOW_MS))).toBe(false);
    expect(churn(before, after, others).plans).toBeLessThanOrEqual(25);
  });
});

test("the same nodes give the same plans, whoever computes them and whatever was asked before", () => {
  const nodes = nodesOf(300, ZONES["zones by a power law"]);
  const [one, other] = [new PeerAssignment(nodes, RULE), new PeerAssignment(nodes, RULE)];
  for (let window = 0; window < 5; window++) other.figures(NOW_MS - window * RULE.rotationMs);
  for (const { name } of nodes) {
    expect(peerNames(one, name)).toEqual(peerNames(other, name));
    for (const peer of peerNames(one, name)) expect(one.has(name, peer, NOW_MS)).toBe(true);
    expect(one.has(name, name, NOW_MS)).toBe(false);
    expect(peerNames(one, name)).not.toContain(name);
    expect(new Set(peerNames(one, name)).size).toBe(peerNames(one, name).length);
  }
});

test("a cluster of not many more nodes than peers is a full mesh", () => {
  const nodes = nodesOf(34);
  const peers = new PeerAssignment(nodes, { ...RULE, peers: 200 });
  expect(peers.peersOf("node-0003", NOW_MS)).toHaveLength(33);
  expect(peers.has("node-0003", "node-0033", NOW_MS)).toBe(true);
  expect(peers.node("node-0003")?.name).toBe("node-0003");
  expect(peers.node("nobody")).toBeNull();
  expect(peers.peersOf("nobody", NOW_MS)).toEqual([]);
});

// Tests `isochrone score --strategy network-overhead` on the objects that KEP-260's plugin reads: Node, Pod,
// AppGroup, NetworkTopology.
import { seeded } from "@isochrone/primitives";
import { expect, test } from "vitest";
import { scoreDump } from "./score-dump.ts";

const REGIONS = 10;
const ZONES = 100;
const zone = (p: number): string => `z${Math.floor(p / 10)}-${p % 10}`;
const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

const reference = (name: string) => ({
  kind: "Deployment",
  apiVersion: "apps/v1",
  namespace: "default",
  name,
  selector: name,
});
const pod = (name: string, workload: string, more: object = {}, spec: object = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name,
    namespace: "default",
    labels: { "appgroup.diktyo.x-k8s.io": "fixture", "appgroup.diktyo.x-k8s.io.workload": workload },
  },
  spec,
  ...more,
});
const rows = (count: number, name: (area: number) => string, cost: (a: number, b: number) => number) =>
  range(count).map((a) => ({
    origin: name(a),
    costList: range(count)
      .filter((b) => b !== a)
      .map((b) => ({ destination: name(b), networkCost: cost(a, b) })),
  }));

function fixture(nodeCount: number, more: readonly object[] = []): string {
  const draw = seeded(42);
  const items = [
    ...range(nodeCount).map((i) => ({
      apiVersion: "v1",
      kind: "Node",
      metadata: {
        name: `n-${i}`,
        labels: {
          "topology.kubernetes.io/region": `r${i % 10}`,
          "topology.kubernetes.io/zone": zone((i % 10) * 10 + (Math.floor(i / 10) % 10)),
        },
      },
    })),
    ...range(50).map((k) =>
      pod(`placed-${k}`, `w${k % 10}`, {}, { nodeName: `n-${(draw() * 2 ** 32) % nodeCount}` }),
    ),
    {
      apiVersion: "appgroup.diktyo.x-k8s.io/v1alpha1",
      kind: "AppGroup",
      metadata: { name: "fixture", namespace: "default" },
      spec: {
        workloads: [
          {
            workload: reference("wt"),
            dependencies: range(10).map((w) => ({
              workload: reference(`w${w}`),
              maxNetworkCost: 30 + 4 * w,
            })),
          },
          ...range(10).map((w) => ({ workload: reference(`w${w}`) })),
        ],
      },
    },
    {
      apiVersion: "networktopology.diktyo.x-k8s.io/v1alpha1",
      kind: "NetworkTopology",
      metadata: { name: "nt-default", namespace: "default" },
      spec: {
        weights: [
          {
            name: "UserDefined",
            topologyList: [
              {
                topologyKey: "topology.kubernetes.io/region",
                originList: rows(
                  REGIONS,
                  (a) => `r${a}`,
                  (a, b) => 20 + ((31 * a + 17 * b) % 61),
                ),
              },
              {
                topologyKey: "topology.kubernetes.io/zone",
                originList: rows(ZONES, zone, (p, q) => 1 + ((13 * p + 7 * q) % 15)),
              },
            ],
          },
        ],
      },
    },
    ...more,
  ];
  return JSON.stringify({ apiVersion: "v1", kind: "List", items });
}

const score = (dumpText: string, mode?: string) =>
  scoreDump({
    dumpText,
    podText: JSON.stringify(pod("tested", "wt")),
    strategy: "network-overhead",
    mode: mode ?? null,
  });

test("the common fixture gives the plugin's sums for every node, feasible or not", () => {
  const { nodes } = score(fixture(1_000), "upstream");
  const sum = (of: (row: (typeof nodes)[number]) => number): number =>
    nodes.reduce((all, row) => all + of(row), 0);
  const raws = nodes.map(({ raw }) => raw!);
  expect({
    pass: nodes.filter(({ feasible }) => feasible).length,
    rawSum: sum(({ raw }) => raw!),
    min: Math.min(...raws),
    max: Math.max(...raws),
    scoreSum: sum((row) => row.score),
  }).toEqual({ pass: 600, rawSum: 2_245_150, min: 1_992, max: 2_585, scoreSum: 57_839 });
  expect(nodes.find(({ feasible }) => !feasible)?.reason).toMatch(
    /^Node n-\d+ does not meet several network requirements from Workload dependencies: Satisfied: \d+ Violated: \d+$/,
  );
});

test("pods that ended or are being deleted count for upstream, and not for strict, which is the default", () => {
  const dead = [
    pod("ended", "w0", { status: { phase: "Succeeded" } }, { nodeName: "n-0" }),
    {
      ...pod("leaving", "w0", {}, { nodeName: "n-0" }),
      metadata: { ...pod("leaving", "w0").metadata, deletionTimestamp: "2026-01-01T00:00:00Z" },
    },
  ];
  const alive = score(fixture(100), "upstream").nodes;
  const counted = score(fixture(100, dead), "upstream").nodes;
  // Adds two terms, each at least 1 on every node except n-0.
  expect(counted[0]!.raw).toBe(alive[0]!.raw);
  expect(counted.slice(1).every(({ raw }, row) => raw! >= alive[row + 1]!.raw! + 2)).toBe(true);
  const strict = score(fixture(100));
  expect(strict.mode).toBe("strict");
  expect(score(fixture(100, dead)).nodes).toEqual(strict.nodes);
});

test("upstream reads NetworkTopology also where nodes have measured costs", () => {
  const measured = {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "extra", annotations: { "isochrone.dev/network-cost-n-0": "3" } },
  };
  const before = score(fixture(100), "upstream").nodes;
  const after = score(fixture(100, [measured]), "upstream").nodes;
  expect(after.slice(0, 100).map(({ raw }) => raw)).toEqual(before.map(({ raw }) => raw));
  // A node without labels costs 100 for each of the 50 pods.
  expect(after[100]!.raw).toBe(5_000);
});

test("an AppGroup's workload is known by its pods' label, whatever Deployment they are of", () => {
  const labelled = (name: string, workload: string, owner: string, nodeName: string | null) => ({
    ...pod(name, workload, {}, nodeName === null ? {} : { nodeName }),
    metadata: {
      ...pod(name, workload).metadata,
      ownerReferences: [{ apiVersion: "apps/v1", kind: "StatefulSet", name: owner, controller: true }],
    },
  });
  const group = {
    apiVersion: "appgroup.diktyo.x-k8s.io/v1alpha1",
    kind: "AppGroup",
    metadata: { name: "fixture", namespace: "default" },
    spec: {
      workloads: [
        {
          workload: { ...reference("P1"), name: "other" },
          dependencies: [{ workload: reference("P2"), maxNetworkCost: 5 }],
        },
        { workload: reference("P2") },
      ],
    },
  };
  const node = (name: string, zoneName: string) => ({
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      labels: { "topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": zoneName },
    },
  });
  const items = [node("a", "z1"), node("b", "z2"), labelled("db-0", "P2", "database", "a"), group];
  const { nodes } = scoreDump({
    dumpText: JSON.stringify({ apiVersion: "v1", kind: "List", items }),
    podText: JSON.stringify(labelled("web-0", "P1", "website", null)),
    strategy: "network-overhead",
    mode: "upstream",
  });
  // Without a NetworkTopology, all nodes are equal.
  expect(nodes.map(({ raw }) => raw)).toEqual([0, 0]);
  const topology = {
    apiVersion: "networktopology.diktyo.x-k8s.io/v1alpha1",
    kind: "NetworkTopology",
    metadata: { name: "nt-default", namespace: "default" },
    spec: {
      weights: [
        {
          name: "UserDefined",
          topologyList: [
            {
              topologyKey: "topology.kubernetes.io/zone",
              originList: [{ origin: "z2", costList: [{ destination: "z1", networkCost: 9 }] }],
            },
          ],
        },
      ],
    },
  };
  const known = scoreDump({
    dumpText: JSON.stringify({ apiVersion: "v1", kind: "List", items: [...items, topology] }),
    podText: JSON.stringify(labelled("web-0", "P1", "website", null)),
    strategy: "network-overhead",
    mode: "upstream",
  }).nodes;
  expect(known.map(({ raw, score: points, feasible }) => ({ raw, points, feasible }))).toEqual([
    { raw: 0, points: 100, feasible: true },
    { raw: 9, points: 0, feasible: false },
  ]);
});

// With recorded graphs, `score` answers as a running extender. test/e2e/offline-scores.test.ts compares it
// with one.
import { channel, links, node, workload } from "@isochrone/placement/testing";
import { describe, expect, test } from "vitest";
import { scoreDump } from "./score-dump.ts";
import type { DumpScores, ScoreDumpOptions } from "./score-dump.ts";

const AT = "2026-01-01T00:10:00.000Z";

// p uses 500 m and 200 MB; q runs on n2, r on n3; p sends 1,000 B/s to q, and r 500 B/s to p. Same example as
// score-dump.test.ts.
const GRAPHS = {
  cluster: {
    version: 812,
    observedAt: AT,
    windowSeconds: 30,
    nodes: [node("n1", 2_000, 1e9), node("n2", 1_000, 6e8), node("n3", 500, 2e8)],
    links: links(["n1", "n2", 10], ["n1", "n3", 40], ["n2", "n3", 25]),
  },
  workflows: [
    {
      version: 813,
      observedAt: AT,
      namespace: "shop",
      name: "flow",
      workloads: [
        workload("p", { cpu: 500, memory: 2e8 }, {}),
        workload("q", { cpu: 100, memory: 1e8 }, { "q-1": "n2" }),
        workload("r", { cpu: 1, memory: 1 }, { "r-1": "n3" }),
      ],
      channels: [channel("p", "q", 1_000), channel("r", "p", 500)],
    },
  ],
};

interface PodFields {
  readonly node?: string;
  readonly boundAt?: string;
  readonly phase?: string;
  readonly flow?: string;
}

const pod = (
  name: string,
  app: string,
  { node: nodeName, boundAt, phase, flow = "flow" }: PodFields = {},
): object => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "shop", labels: { "isochrone.dev/workflow": flow, app } },
  spec: {
    ...(nodeName === undefined ? {} : { nodeName }),
    containers: [{ name: "main", resources: { requests: { cpu: "250m", memory: "50M" } } }],
  },
  status: {
    phase: phase ?? "Running",
    conditions:
      boundAt === undefined ? [] : [{ type: "PodScheduled", status: "True", lastTransitionTime: boundAt }],
  },
});
const NODES = ["n1", "n2", "n3"].map((name) => ({ apiVersion: "v1", kind: "Node", metadata: { name } }));
const SHOWN = [pod("p-1", "p"), pod("q-1", "q", { node: "n2" }), pod("r-1", "r", { node: "n3" })];

const score = (more: readonly object[] = [], options: Partial<ScoreDumpOptions> = {}): DumpScores =>
  scoreDump({
    dumpText: JSON.stringify({ kind: "List", items: [...NODES, ...SHOWN, ...more] }),
    graphText: JSON.stringify(GRAPHS),
    graphFile: "graph.json",
    podName: "shop/p-1",
    strategy: "resource-network",
    mode: "raw",
    ...options,
  });
const rawOf = (scores: DumpScores): (number | null)[] => scores.nodes.map(({ raw }) => raw);
const networkOf = (scores: DumpScores): unknown[] => scores.nodes.map(({ parts }) => parts["network"]);

describe("score --graph", () => {
  test("gives the paper's sum of the graphs' figures, and says their versions", () => {
    const scores = score();
    expect(rawOf(scores)).toEqual([-14_825, -6_175, -12_500]);
    expect(scores.inputs).toEqual({
      clusterVersion: 812,
      workflowVersion: 813,
      observedFrom: AT,
      observedTo: AT,
    });
    expect(scores.explanation).toContain("The cluster graph was version 812, 0 s old.");
  });

  test("reads no annotation", () => {
    const annotations = { "isochrone.dev/network-cost-n2": "9", "isochrone.dev/available-cpu": "not at all" };
    const annotated = NODES.map(({ metadata, ...rest }) => ({
      ...rest,
      metadata: { ...metadata, annotations },
    }));
    const dumpText = JSON.stringify({ kind: "List", items: [...annotated, ...SHOWN] });
    expect(rawOf(score([], { dumpText }))).toEqual([-14_825, -6_175, -12_500]);
  });

  test("counts pods as placed that were bound and that the graph doesn't show yet", () => {
    // Two replicas of q: p sends 500 B/s to each. n1: -(10 x 500 + 0 x 500 + 40 x 500), n2: -(0 + 10 x 500 +
    // 25 x 500).
    const expected = [-25_000, -17_500, -(25 * 500 + 40 * 500)];
    const bound = score([pod("q-2", "q", { node: "n1", boundAt: "2026-01-01T00:09:30Z" })]);
    expect(networkOf(bound)).toEqual(expected);
    // The pod uses as much as q's pods, 100 m and 100 MB: (2,000 - 100 - 500) / 500 and (1e9 - 1e8 - 2e8) /
    // 2e8.
    expect(bound.nodes[0]!.parts).toMatchObject({ cpu: 280, memory: 350 });
    expect(bound.explanation).toContain("1 decisions that the graph doesn't show yet count as placed.");
    expect(networkOf(score([pod("q-2", "q", { node: "n1" })]))).toEqual(expected);
  });

  test("counts none that was bound long ago, has ended, is not bound, or is the pod itself", () => {
    const plain = networkOf(score());
    const placed = { node: "n1", boundAt: "2026-01-01T00:08:00Z" };
    for (const other of [
      pod("q-2", "q", placed),
      pod("q-2", "q", { node: "n1", phase: "Failed" }),
      pod("q-2", "q"),
      pod("q-2", "q", { node: "n1", flow: "other" }),
    ])
      expect(networkOf(score([other]))).toEqual(plain);
    const own = { podText: JSON.stringify(pod("q-2", "q")) };
    expect(rawOf(score([pod("q-2", "q", { node: "n1" })], own))).toEqual(rawOf(score([], own)));
  });

  test("says which nodes of the dump the graph doesn't know, and that a pod is of no workflow", () => {
    const stranger = { apiVersion: "v1", kind: "Node", metadata: { name: "n9" } };
    expect(score([stranger]).explanation).toContain(
      "The cluster graph knows nothing of nodes of the dump: n9.",
    );
    const other = { podText: JSON.stringify(pod("x-1", "x")) };
    expect(score([], other).explanation.join()).toContain("the pod belongs to no workflow");
  });

  test.each([
    [
      "nothing",
      "",
      "must be what `isochrone graph -o json` prints once, with cluster and workflows, got nothing",
    ],
    ["a dump", JSON.stringify({ kind: "List", items: [] }), 'got {"kind":"List","items":[]}'],
    ["a watch", `a: 1\n---\na: 2`, "got 2 documents"],
    ["no JSON", "[1", "line 1"],
    ["a faulty graph", JSON.stringify({ ...GRAPHS, cluster: { ...GRAPHS.cluster, nodes: 7 } }), "nodes"],
  ])("refuses %s, naming file and rule", (_, graphText, message) => {
    expect(() => score([], { graphText })).toThrow(/^graph\.json/);
    expect(() => score([], { graphText })).toThrow(message);
  });
});

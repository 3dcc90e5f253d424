import { describe, expect, test } from "vitest";
import { DumpError } from "./errors.ts";
import { scoreDump } from "./score-dump.ts";
import type { DumpScores, ScoreDumpOptions } from "./score-dump.ts";

type Annotations = Readonly<Record<string, string>>;

const node = (name: string, annotations: Annotations = {}): object => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: { name, annotations },
});
const deployment = (name: string, annotations: Annotations = {}): object => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name, namespace: "s", annotations },
  spec: { selector: { matchLabels: { app: name } } },
});
const pod = (app: string, nodeName: string, name = `${app}-1`): object => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "s", labels: { app } },
  spec: { nodeName },
});
const NODES = [
  node("n1", { "isochrone.dev/available-cpu": "2", "isochrone.dev/network-cost-n2": "5" }),
  node("n2", { "isochrone.dev/available-cpu": "1", "isochrone.dev/network-cost-n1": "5" }),
];
const FULL = { "isochrone.dev/cpu-usage": "100m", "isochrone.dev/traffic-q": "1000" };

const score = (items: readonly object[], more: Partial<ScoreDumpOptions> = {}): DumpScores =>
  scoreDump({
    dumpText: JSON.stringify({ kind: "List", items }),
    dumpFile: "dump.json",
    podName: "s/p-1",
    strategy: "resource-network",
    ...more,
  });
const said = (items: readonly object[], more: Partial<ScoreDumpOptions> = {}): string =>
  score(items, more).explanation.join("\n");

const WHOLE = [...NODES, deployment("p", FULL), deployment("q"), pod("p", "n1"), pod("q", "n2")];

describe("isochrone score says", () => {
  test("nothing of the kind about a dump that has all", () => {
    expect(said(WHOLE)).not.toMatch(/annotations\.|aren't there|nobody declared/);
  });

  test("how to get usage and traffic of workloads", () => {
    const without = [...NODES, deployment("p"), deployment("q"), pod("p", "n1"), pod("q", "n2")];
    expect(said(without)).toContain(
      "The dump doesn't say of Deployment s/p what its pods use (cpu-usage, memory-usage), nor its traffic (traffic-<workload>): the aggregator annotates workloads where annotations.workloads is on, which it isn't by default; --graph gives the graphs instead.",
    );
    const used = [...NODES, deployment("p", { "isochrone.dev/cpu-usage": "1" }), pod("p", "n1")];
    expect(said(used)).toContain("The dump doesn't say of Deployment s/p its traffic (traffic-<workload>):");
    // A strategy that ignores usage does not report it as lacking.
    expect(said(without, { strategy: "communication-affinity" })).toContain("Deployment s/p its traffic");
    // The Go plugin reads no annotations.
    expect(said(without, { strategy: "network-overhead", mode: "upstream" })).not.toContain("annotations.");
    const stated = [...NODES, deployment("p"), deployment("q", { "isochrone.dev/traffic-p": "7" })];
    expect(said([...stated, pod("p", "n1"), pod("q", "n2")])).not.toContain("its traffic");
  });

  test("how to get what nodes have available and what the network costs", () => {
    const bare = [
      node("n1"),
      node("n2"),
      deployment("p", FULL),
      deployment("q"),
      pod("p", "n1"),
      pod("q", "n2"),
    ];
    expect(said(bare)).toContain(
      "No node of the dump says what it has available (available-cpu, -memory), nor what the network costs (network-cost-<node>, network-coordinate): the aggregator annotates nodes where annotations.nodes is on.",
    );
  });

  test("that pods are on nodes which the dump lacks", () => {
    const beyond = [...WHOLE.slice(0, -1), pod("q", "n9"), pod("q", "n2", "q-2"), pod("q", "n8", "q-3")];
    for (const strategy of ["resource-network", "communication-affinity", "network-overhead"])
      expect([strategy, said(beyond, { strategy })]).toEqual([
        strategy,
        expect.stringContaining(
          "Pods that it talks to are on nodes that aren't there, to which no cost is known: q-1 on n9, q-3 on n8.",
        ),
      ]);
    const many = Array.from({ length: 8 }, (_, index) => pod("q", "n9", `q-${index}`));
    expect(said([...WHOLE.slice(0, -1), ...many])).toContain("q-4 on n9 and 3 more.");
  });

  test("that a type is undeclared which is all that says a pod's priority", () => {
    const dependencies = { "isochrone.dev/dependencies": '[{"name": "q", "type": "FaxRoute"}]' };
    const items = [...NODES, deployment("p", dependencies), deployment("q"), pod("p", "n1"), pod("q", "n2")];
    const words =
      "The priority part is neutral: no channel to a placed pod has a priority; nobody declared the relationship types FaxRoute";
    for (const mode of ["raw", "normalized"])
      expect(said(items, { strategy: "communication-affinity", mode })).toContain(words);
    const combined = { strategy: "communication-affinity=1,resource-network=1" };
    expect(said(items, combined)).toContain("nobody declared the relationship types FaxRoute");
    const declared = { strategy: "communication-affinity", channelPriorities: "FaxRoute=3" };
    expect(said(items, declared)).not.toContain("nobody declared");
  });

  test("from when the annotations are", () => {
    const at = (time: string): Annotations => ({ ...FULL, "isochrone.dev/observed-at": time });
    const items = [
      node("n1", at("2026-11-21T19:04:10Z")),
      node("n2"),
      deployment("p", at("2026-11-21T19:01:00Z")),
      pod("p", "n1"),
    ];
    expect(score(items).inputs).toEqual({
      clusterVersion: null,
      workflowVersion: null,
      observedFrom: "2026-11-21T19:01:00.000Z",
      observedTo: "2026-11-21T19:04:10.000Z",
    });
    expect(score(WHOLE).inputs.observedFrom).toBeNull();
    expect(said(WHOLE)).toContain("The cluster graph was read from the cluster's objects, of unknown age.");
  });
});

describe("an error names the object, not its place in a list", () => {
  const failure = (items: readonly object[]): string => {
    try {
      return `no error: ${said(items)}`;
    } catch (error) {
      if (error instanceof DumpError) return error.message;
      throw error;
    }
  };
  const broken = { "isochrone.dev/traffic-q": "much" };
  const group = { kind: "AppGroup", metadata: { name: "g", namespace: "s" } };
  const workload = (name: string, rest: object = {}): object => ({
    workload: { name, selector: name },
    ...rest,
  });
  const limit = { dependencies: [workload("q", { maxNetworkCost: -1 })] };

  test.each([
    [deployment("x", broken), "Deployment s/x: metadata.annotations.isochrone.dev/traffic-q must be"],
    [
      node("x", { "isochrone.dev/available-cpu": "?" }),
      "Node x: metadata.annotations.isochrone.dev/available-cpu must be",
    ],
    [
      deployment("x", { "isochrone.dev/dependencies": "7" }),
      "Deployment s/x: metadata.annotations.isochrone.dev/dependencies must be",
    ],
    [
      { ...group, spec: { workloads: [workload("p", limit)] } },
      "AppGroup s/g: spec.workloads.0.dependencies.0.maxNetworkCost must be",
    ],
    [node("n1"), "Node n1: metadata.name must be unique among the nodes"],
    // An object without a name is identified by its position.
    [{ kind: "Pod", metadata: {} }, "items.6.metadata.name must be text"],
  ])("%j", (object, message) => {
    expect(failure([...WHOLE, object])).toContain(message);
  });
});

import type { WorkflowGraphSnapshot } from "@isochrone/topology";
import { beforeEach, describe, expect, test } from "vitest";
import { clusterState } from "../../testing/cluster.ts";
import { counter, gauge, recordOf } from "../../testing/records.ts";
import type { ClusterState, PodState, WorkloadState } from "../cluster-state.ts";
import { Ingest } from "../ingest/ingest.ts";
import { Tables } from "./tables.ts";
import { buildWorkflows, workflowSteps } from "./workflows.ts";

const SHAPE = { windowMs: 30_000, paneMs: 2000, panes: 15, fastPanes: 3 };
const NOW = 1_700_000_000_000;

let tables: Tables;
let ingest: Ingest;

beforeEach(() => {
  tables = new Tables(SHAPE, { maxLinks: 10, maxChannels: 100, maxPods: 100 });
  ingest = new Ingest(tables, { maxFutureMs: 1000, maxSeries: 1000, maxSources: 10 });
});

function traffic(source: string, target: string, perSecond = 10, reporter = "source"): void {
  const [sourceNamespace, sourceName] = source.split("/");
  const [targetNamespace, targetName] = target.split("/");
  const labels = {
    reporter,
    source_workload: sourceName!,
    source_workload_namespace: sourceNamespace!,
    destination_workload: targetName!,
    destination_workload_namespace: targetNamespace!,
    response_code: "200",
  };
  for (let i = 0; i <= 2; i++) {
    const at = NOW + i * 2000;
    ingest.take(
      recordOf("n", [counter("istio_requests_total", labels, at, i * 2 * perSecond)], { arrivedAtMs: at }),
      at,
    );
  }
}

function workload(namespace: string, name: string, workflow: string): WorkloadState {
  return { namespace, name, kind: "Deployment", workflow: { namespace, name: workflow } };
}

function pod(namespace: string, name: string, owner: string, workflow: string): PodState {
  return {
    namespace,
    name,
    node: "n",
    workload: { kind: "Deployment", name: owner },
    workflow: { namespace, name: workflow },
  };
}

function build(cluster: Partial<ClusterState>): WorkflowGraphSnapshot[] {
  return buildWorkflows(tables, clusterState(cluster), { version: 1, nowMs: NOW + 4000 }, "full");
}

const edges = (graph: WorkflowGraphSnapshot | undefined): string[] =>
  (graph?.channels ?? []).map(({ source, target }) => `${source} -> ${target}`);

describe("workflows", () => {
  test("workloads with one label are one workflow, with their channels and pods", () => {
    traffic("shop/web", "shop/db");
    const [graph, ...others] = build({
      workloads: [workload("shop", "web", "checkout"), workload("shop", "db", "checkout")],
      pods: [pod("shop", "web-2", "web", "checkout"), pod("shop", "web-1", "web", "checkout")],
    });
    expect(others).toEqual([]);
    expect(graph).toMatchObject({
      namespace: "shop",
      name: "checkout",
      channels: [{ source: "web", target: "db", requestsPerSecond: 10, origin: "observed" }],
    });
    expect(graph!.workloads.map(({ name, pods }) => [name, pods.map((p) => p.name)])).toEqual([
      ["db", []],
      ["web", ["web-1", "web-2"]],
    ]);
  });

  test("traffic of workloads that the mesh can't name is not drawn", () => {
    traffic("unknown/unknown", "shop/web");
    expect(edges(build({ workloads: [workload("shop", "web", "checkout")] })[0])).toEqual([]);
  });

  test("a workload that is known by its traffic only joins its peer's workflow", () => {
    traffic("shop/web", "shop/legacy");
    const [graph] = build({ workloads: [workload("shop", "web", "checkout")] });
    expect(graph!.workloads.find(({ name }) => name === "legacy")).toMatchObject({
      kind: "Unknown",
      pods: [],
      cpuMillicores: null,
    });
  });

  test("a channel between two workflows is part of both", () => {
    traffic("shop/web", "pay/bank");
    traffic("shop/web", "pay/bank", 10, "destination");
    const graphs = build({
      workloads: [workload("shop", "web", "checkout"), workload("pay", "bank", "billing")],
    });
    expect(graphs.map((graph) => [graph.name, edges(graph)])).toEqual([
      ["billing", ["web -> bank"]],
      ["checkout", ["web -> bank"]],
    ]);
  });

  test("workloads of one name in two namespaces are told apart", () => {
    traffic("shop/web", "pay/web");
    const [, shop] = build({
      workloads: [workload("shop", "web", "checkout"), workload("pay", "web", "billing")],
    });
    expect(edges(shop)).toEqual(["web -> pay/web"]);
  });

  test("a declared channel is merged with what was observed of it", () => {
    traffic("shop/web", "shop/db");
    const declared = [
      {
        source: { namespace: "shop", name: "web" },
        target: { namespace: "shop", name: "db" },
        priority: 3,
        maxNetworkCost: 20,
        minBandwidthBitsPerSecond: 1e6,
      },
    ];
    const [graph] = build({
      workloads: [workload("shop", "web", "c"), workload("shop", "db", "c")],
      declared,
    });
    expect(graph!.channels).toMatchObject([
      {
        requestsPerSecond: 10,
        priority: 3,
        maxNetworkCost: 20,
        minBandwidthBitsPerSecond: 1e6,
        origin: "observed",
      },
    ]);
  });

  test("a channel says its declared type, and where callers of its target are sent", () => {
    traffic("shop/web", "shop/db");
    traffic("shop/db", "shop/web");
    const declared = [
      {
        source: { namespace: "shop", name: "web" },
        target: { namespace: "shop", name: "db" },
        priority: null,
        maxNetworkCost: null,
        minBandwidthBitsPerSecond: null,
        relationshipType: "gRPCRoute",
      },
    ];
    const routing = new Map([["shop/db", ["node", "zone"] as const]]);
    const workloads = [workload("shop", "web", "c"), workload("shop", "db", "c")];
    const [back, there] = build({ workloads, declared, routing })[0]!.channels;
    expect(there).toMatchObject({
      target: "db",
      relationshipType: "gRPCRoute",
      routing: "nearest",
      routingScopes: ["node", "zone"],
    });
    expect(back).not.toHaveProperty("routing");
    expect(back).not.toHaveProperty("relationshipType");
  });

  test("a channel without traffic in the window is gone, unless it is declared", () => {
    traffic("shop/web", "shop/db", 0);
    const workloads = [workload("shop", "web", "c"), workload("shop", "db", "c")];
    expect(edges(build({ workloads })[0])).toEqual([]);
    const declared = [
      {
        source: { namespace: "shop", name: "web" },
        target: { namespace: "shop", name: "db" },
        priority: null,
        maxNetworkCost: null,
        minBandwidthBitsPerSecond: null,
      },
    ];
    expect(build({ workloads, declared })[0]!.channels).toMatchObject([
      { origin: "declared", requestsPerSecond: null, ageSeconds: null },
    ]);
  });

  test.each([
    [3, ["web -> db"]],
    [0, []],
  ])(
    "a channel known only from sightings of connections is drawn when there were any (%i)",
    (seen, drawn) => {
      const labels = {
        type: "Trace",
        subtype: "to-endpoint",
        verdict: "FORWARDED",
        traffic_direction: "ingress",
        source_namespace: "shop",
        source_workload: "web",
        destination_namespace: "shop",
        destination_workload: "db",
      };
      for (let i = 0; i <= 2; i++) {
        const at = NOW + i * 2000;
        const flows = counter("hubble_flows_processed_total", labels, at, i * seen);
        ingest.take(recordOf("n", [flows], { arrivedAtMs: at }), at);
      }
      const [graph] = build({ workloads: [workload("shop", "web", "c"), workload("shop", "db", "c")] });
      expect(edges(graph)).toEqual(drawn);
      expect(
        graph!.channels.map(({ requestsPerSecond, bytesPerSecond, origin }) => [
          requestsPerSecond,
          bytesPerSecond,
          origin,
        ]),
      ).toEqual(drawn.map(() => [null, null, "observed"]));
    },
  );

  test("the usage of a workload is the mean over its pods that have figures", () => {
    const memory = (name: string, value: number) =>
      gauge(
        "container_memory_working_set_bytes",
        { namespace: "shop", pod: name, container: "c" },
        NOW,
        value,
      );
    ingest.take(recordOf("n", [memory("web-1", 100), memory("web-2", 300)], { arrivedAtMs: NOW }), NOW);
    const pods = ["web-1", "web-2", "web-3"].map((name) => pod("shop", name, "web", "c"));
    expect(build({ pods })[0]!.workloads[0]).toMatchObject({
      name: "web",
      memoryBytes: 200,
      cpuMillicores: null,
    });
  });

  test("a bare pod is its own workload", () => {
    const [graph] = build({
      pods: [
        {
          namespace: "shop",
          name: "job",
          node: null,
          workload: null,
          workflow: { namespace: "shop", name: "shop" },
        },
      ],
    });
    expect(graph!.workloads).toMatchObject([
      { name: "job", kind: "Pod", pods: [{ name: "job", node: null }] },
    ]);
  });
});

describe("what a namespace declares of its channels to another one", () => {
  const workloads = [
    workload("evil", "w", "own"),
    workload("shop", "web", "checkout"),
    workload("shop", "db", "checkout"),
  ];
  const pods = [pod("shop", "web-1", "web", "checkout"), pod("evil", "w-1", "w", "own")];
  const demands = {
    priority: 1e6,
    maxNetworkCost: 0,
    minBandwidthBitsPerSecond: 1e15,
    relationshipType: "HTTPRoute",
  };
  const asked = {
    source: { namespace: "evil", name: "w" },
    target: { namespace: "shop", name: "web" },
    ...demands,
  };
  const graphOf = (graphs: readonly WorkflowGraphSnapshot[], name: string) =>
    graphs.find((graph) => graph.name === name);

  test("leaves the other one's workflow as it is, and is in its own with what it demands", () => {
    const declared = [asked, { ...asked, source: { namespace: "evil", name: "ghost" } }];
    const without = build({ workloads, pods });
    const graphs = build({ workloads, pods, declared });
    expect(graphOf(graphs, "checkout")).toEqual(graphOf(without, "checkout"));
    expect(graphOf(graphs, "own")!.channels).toMatchObject([{ source: "w", target: "web", ...demands }]);
    // An unknown workload belongs to the declaring workflow, not to the far end's.
    expect(edges(graphOf(graphs, "evil"))).toEqual(["ghost -> web"]);
  });

  test("demands nothing on the far side of a channel that carries traffic", () => {
    traffic("evil/w", "shop/web");
    traffic("evil/w", "shop/web", 10, "destination");
    const without = build({ workloads, pods });
    const graphs = build({ workloads, pods, declared: [asked] });
    expect(edges(graphOf(graphs, "checkout"))).toEqual(["w -> web"]);
    expect(graphOf(graphs, "checkout")).toEqual(graphOf(without, "checkout"));
    expect(graphOf(graphs, "own")!.channels).toMatchObject([{ requestsPerSecond: 10, ...demands }]);
  });

  test("binds the other one by what that agreed to", () => {
    const agreed = { priority: 3, maxNetworkCost: 40, minBandwidthBitsPerSecond: null };
    const graphs = build({ workloads, pods, declared: [{ ...asked, agreed }] });
    expect(graphOf(graphs, "checkout")!.channels).toMatchObject([{ source: "w", target: "web", ...agreed }]);
    expect(graphOf(graphs, "checkout")!.channels[0]).not.toHaveProperty("relationshipType");
    expect(graphOf(graphs, "own")!.channels).toMatchObject([demands]);
  });

  test("brings no more far pods into its graphs than it may have, however many workflows it makes", () => {
    const many = Array.from({ length: 1_000 }, (_, at) => pod("shop", `web-${at}`, "web", "checkout"));
    const own = Array.from({ length: 80 }, (_, at) => workload("evil", `w${at}`, `flow-${at}`));
    const declared = own.map(({ namespace, name }) => ({ ...asked, source: { namespace, name } }));
    const graphs = build({ workloads: [...workloads, ...own], pods: many, declared });
    const far = graphs
      .filter(({ namespace }) => namespace === "evil")
      .flatMap((graph) => graph.workloads.flatMap((each) => each.pods));
    expect(far).toHaveLength(50_000);
    let leftOut = 0;
    const steps = workflowSteps(
      tables,
      clusterState({ workloads: [...workloads, ...own], pods: many, declared }),
      { version: 1, nowMs: NOW },
      "full",
      () => leftOut++,
    );
    while (steps.next().done !== true);
    expect(leftOut).toBe(30);
  });
});

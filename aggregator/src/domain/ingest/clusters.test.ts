// Telemetry of several clusters: which series count, and how calls between clusters appear.
import { RESOURCE_ATTRIBUTES, type Attributes, type Metric } from "@isochrone/telemetry";
import * as fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { EMPTY_CLUSTER, type ClusterState } from "../cluster-state.ts";
import { Tables } from "../graphs/tables.ts";
import { buildWorkflows } from "../graphs/workflows.ts";
import { NO_FACTS, type ClusterFacts } from "../speakers/authority.ts";
import { counter, gauge, recordOf } from "../../testing/records.ts";
import { Ingest } from "./ingest.ts";
import { OwnCluster } from "./own-cluster.ts";

const SHAPE = { windowMs: 30_000, paneMs: 2000, panes: 15, fastPanes: 3 };
const NOW = 1_700_000_000_000;
const STEP_MS = 2000;
const STEPS = 5;
const END = NOW + STEPS * STEP_MS;

const facts: ClusterFacts = {
  ...NO_FACTS,
  isNode: (name) => (name === "n1" ? "yes" : "no"),
  podNamed: (namespace, name) => (name === "web-0" ? { namespace, workload: "web", node: "n1" } : "no"),
};
const workflow = { namespace: "shop", name: "shop" };
const CLUSTER: ClusterState = {
  ...EMPTY_CLUSTER,
  workloads: ["web", "stock"].map((name) => ({ namespace: "shop", name, kind: "Deployment", workflow })),
};

let tables: Tables;
let ingest: Ingest;

function begin(names: readonly string[] = []): void {
  tables = new Tables(SHAPE, { maxLinks: 100, maxChannels: 100, maxPods: 100 });
  const options = { maxFutureMs: 1000, maxSeries: 1000, maxSources: 100 };
  ingest = new Ingest(tables, options, { facts, clusters: new OwnCluster(names) });
}
beforeEach(() => begin());

interface Call {
  readonly from: string;
  readonly to: string;
  readonly reporter?: string;
  readonly source?: string;
  readonly target?: string;
}

function row({ from, to, reporter = "source", source = "web", target = "stock" }: Call): Attributes {
  return {
    reporter,
    source_workload: source,
    source_workload_namespace: source === "unknown" ? "unknown" : "shop",
    source_cluster: from,
    destination_workload: target,
    destination_workload_namespace: target === "unknown" ? "unknown" : "shop",
    destination_cluster: to,
  };
}

function run(
  rows: readonly (readonly [name: string, attributes: Attributes, perSecond: number])[],
  node = "n1",
  resource: Attributes = {},
): void {
  for (let step = 0; step <= STEPS; step++) {
    const atMs = NOW + step * STEP_MS;
    const metrics = rows.map(([name, attributes, perSecond]): Metric =>
      counter(name, attributes, atMs, 1000 + (perSecond * step * STEP_MS) / 1000),
    );
    ingest.take(recordOf(node, metrics, { arrivedAtMs: atMs, resource }), atMs);
  }
}

const REQUESTS = "istio_requests_total";

function graph() {
  const [first] = buildWorkflows(tables, CLUSTER, { version: 1, nowMs: END }, "full");
  return {
    channels: first!.channels.map(({ source, target, requestsPerSecond }) => [
      `${source} ${target}`,
      requestsPerSecond === null ? null : Math.round(requestsPerSecond * 1e6) / 1e6,
    ]),
    outside: first!.outside ?? [],
  };
}

describe("Istio's clusters", () => {
  test("a call to another cluster is outside, by its name, and no channel to the workload of that name", () => {
    run([[REQUESTS, row({ from: "here", to: "there" }), 3]]);
    expect(graph()).toMatchObject({
      channels: [],
      outside: [
        {
          workload: "web",
          destination: "there",
          sentBytesPerSecond: null,
          receivedBytesPerSecond: null,
          sentRequestsPerSecond: 3,
          receivedRequestsPerSecond: 0,
        },
      ],
    });
  });

  test("each direction's bytes are told for themselves, of calls to and from another cluster", () => {
    const out = row({ from: "here", to: "Gke_Eu:1" });
    const into = row({ from: "Gke_Eu:1", to: "here", reporter: "destination" });
    run([
      ["istio_request_bytes_sum", out, 100],
      ["istio_response_bytes_sum", out, 7000],
      ["istio_tcp_received_bytes_total", out, 10],
      ["istio_tcp_sent_bytes_total", out, 500],
      ["istio_request_bytes_sum", into, 20],
      ["istio_response_bytes_sum", into, 300],
      [REQUESTS, into, 4],
    ]);
    const [stock, web] = graph().outside;
    expect(web).toMatchObject({ workload: "web", destination: "gke-eu-1" });
    expect(web!.sentBytesPerSecond).toBeCloseTo(110, 6);
    expect(web!.receivedBytesPerSecond).toBeCloseTo(7500, 6);
    expect(stock).toMatchObject({ workload: "stock", destination: "gke-eu-1" });
    expect(stock!.receivedBytesPerSecond).toBeCloseTo(20, 6);
    expect(stock!.sentBytesPerSecond).toBeCloseTo(300, 6);
    expect(stock!.receivedRequestsPerSecond).toBeCloseTo(4, 6);
  });

  test("one cluster alone, by whatever name, is this one; the default name is a name as any other", () => {
    run([[REQUESTS, row({ from: "Kubernetes", to: "Kubernetes" }), 3]]);
    expect(graph()).toEqual({ channels: [["web stock", 3]], outside: [] });
    begin(["prod-eu"]);
    run([[REQUESTS, row({ from: "Kubernetes", to: "Kubernetes" }), 3]]);
    expect(graph()).toEqual({ channels: [["web stock", 3]], outside: [] });
    begin();
    run([
      [REQUESTS, row({ from: "Kubernetes", to: "Kubernetes" }), 3],
      [REQUESTS, row({ from: "Kubernetes", to: "remote" }), 2],
    ]);
    expect(graph()).toMatchObject({ channels: [["web stock", 3]], outside: [{ destination: "remote" }] });
  });

  test.each([
    ["by name", ["here"]],
    ["where this one has most of the rows", []],
  ])("rows of proxies in another cluster are left out, and counted: %s", (_, names) => {
    begin(names);
    const more = ["a", "b", "c"].map((source) => row({ from: "here", to: "here", source }));
    run([
      ...more.map((attributes) => [REQUESTS, attributes, 0] as const),
      [REQUESTS, row({ from: "here", to: "here" }), 3],
      [REQUESTS, row({ from: "there", to: "there" }), 40],
      [REQUESTS, row({ from: "there", to: "here" }), 500],
      [
        "istio_request_duration_milliseconds_bucket",
        { ...row({ from: "there", to: "there" }), le: "+Inf" },
        1,
      ],
    ]);
    expect(graph()).toEqual({ channels: [["web stock", 3]], outside: [] });
    expect(ingest.counts.unused.other_cluster).toBe(3 * (STEPS + 1));
  });

  test("rows without clusters, and reduced ones without the target's, are of this cluster", () => {
    run([[REQUESTS, { ...row({ from: "", to: "" }), source_cluster: "unknown" }, 3]]);
    expect(graph().channels).toEqual([["web stock", 3]]);
    begin(["here"]);
    run([[REQUESTS, { ...row({ from: "here", to: "" }) }, 3]]);
    expect(graph().channels).toEqual([["web stock", 3]]);
  });

  test.each([
    ["an unknown target", { target: "unknown" }, { workload: "web", sentRequestsPerSecond: 3 }],
    [
      "an unknown caller",
      { source: "unknown", reporter: "destination" },
      { workload: "stock", receivedRequestsPerSecond: 3 },
    ],
  ])("%s is outside for the end that is known", (_, ends, outside) => {
    run([[REQUESTS, row({ from: "here", to: "unknown", ...ends }), 3]]);
    const found = graph();
    expect(found.channels).toEqual([]);
    expect(found.outside).toMatchObject([{ destination: "unknown", ...outside }]);
  });

  test("two ends that are unknown are unattributed", () => {
    run([[REQUESTS, row({ from: "here", to: "here", source: "unknown", target: "unknown" }), 3]]);
    expect(ingest.counts.unused.unattributed).toBe(STEPS + 1);
  });
});

describe("the label of a Thanos, Mimir or OpenTelemetry Collector", () => {
  const CPU = "container_cpu_usage_seconds_total";
  const usage = (cluster: Attributes, node: string): Attributes => ({
    namespace: "shop",
    pod: node === "n1" ? "web-0" : "web-7",
    container: "web",
    node,
    ...cluster,
  });

  const labels = [
    ["cluster", (name: string): Attributes => ({ cluster: name })],
    ["k8s_cluster_name", (name: string): Attributes => ({ k8s_cluster_name: name })],
    ["K8S_ClusterName", (name: string): Attributes => ({ K8S_ClusterName: name })],
  ] as const;

  test.each(labels)(
    "%s: the cluster whose series name this one's nodes counts, whatever comes first",
    (_, of) => {
      fc.assert(
        fc.property(fc.boolean(), fc.integer({ min: 1, max: 5 }), (isLast, others) => {
          begin();
          const own = [[CPU, usage(of("here"), "n1"), 0.2]] as const;
          const foreign = Array.from({ length: others }, (__, index) => {
            const attributes = {
              ...usage(of("there"), "m9"),
              container: `c${index}`,
              namespace: `n${index}`,
            };
            return [CPU, attributes, 1] as const;
          });
          const traffic = [
            [REQUESTS, { ...row({ from: "here", to: "here" }), ...of("here") }, 3],
            [REQUESTS, { ...row({ from: "here", to: "here" }), ...of("there") }, 40],
          ] as const;
          run([...(isLast ? [...foreign, ...own] : [...own, ...foreign]), ...traffic], "prometheus");
          expect(ingest.counts.unused.other_cluster).toBeGreaterThan(0);
          expect(graph().channels).toEqual([["web stock", 3]]);
          expect(tables.pods.get("shop/web-0")!.cpu(END, "full")).toBeCloseTo(0.2, 6);
        }),
        { numRuns: 20 },
      );
    },
  );

  test("k8s.cluster.name of a resource likewise", () => {
    begin(["here"]);
    const memory = (atMs: number): Metric => gauge("k8s.pod.memory.working_set", {}, atMs, 5);
    const of = (cluster: string): Attributes => ({
      [RESOURCE_ATTRIBUTES.cluster]: cluster,
      [RESOURCE_ATTRIBUTES.namespace]: "shop",
      [RESOURCE_ATTRIBUTES.pod]: cluster === "here" ? "web-0" : "web-1",
    });
    for (const cluster of ["here", "there"])
      ingest.take(recordOf("n1", [memory(NOW)], { arrivedAtMs: NOW, resource: of(cluster) }), NOW);
    expect(tables.pods.get("shop/web-0")).toBeDefined();
    expect(tables.pods.get("shop/web-1")).toBeUndefined();
    expect(ingest.counts.unused.other_cluster).toBe(1);
  });
});

test("usage of pods that the cluster doesn't have is counted as such", () => {
  const pod = { namespace: "shop", pod: "web-7", container: "web" };
  run([["container_cpu_usage_seconds_total", pod, 1]]);
  expect(ingest.counts.unused.unknown_pod).toBe(STEPS + 1);
  expect(ingest.counts.recentUnused.list(END)[0]).toEqual({
    reason: "unknown_pod",
    points: STEPS + 1,
    example: "container_cpu_usage_seconds_total",
  });
});

describe("this cluster's name", () => {
  test("configured names count alone, and each naming may have one", () => {
    const clusters = new OwnCluster(["prod-eu", "eu-1"]);
    for (let i = 0; i < 10; i++) clusters.note("prometheus", "prod-us", `n${i}`, true, true);
    expect(clusters.isOther("prometheus", "prod-us")).toBe(true);
    expect(clusters.isOther("prometheus", "prod-eu")).toBe(false);
    expect(clusters.isOther("istio", "eu-1")).toBe(false);
    expect(clusters.isOther("istio", "us-1")).toBe(true);
  });

  test("a namespace counts once, however many series it has: a tenant can't rename the cluster", () => {
    const clusters = new OwnCluster();
    for (const namespace of ["shop", "store"]) clusters.note("istio", "here", namespace, true, true);
    for (let i = 0; i < 1000; i++) clusters.note("istio", "evil", "mine", true, true);
    expect(clusters.isOther("istio", "evil")).toBe(true);
    expect([clusters.isOther("istio", "here"), clusters.changes]).toEqual([false, 0]);
  });

  test("names are bounded, and those beyond the bound are of other clusters", () => {
    const clusters = new OwnCluster();
    for (let i = 0; i < 1000; i++) clusters.note("istio", `c${i}`, "shop", true, true);
    expect(clusters.list()).toHaveLength(200);
    expect(clusters.isOther("istio", "c999")).toBe(true);
    expect(clusters.list()[0]).toEqual({ name: "c0", isOwn: true, series: 1 });
  });
});

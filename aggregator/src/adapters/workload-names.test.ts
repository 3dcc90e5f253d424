// Workload names in meshes, traces and flows that differ from the objects' names.
import { KINDS, type ClusterStore, type KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { seededRandom } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import type { Attributes } from "@isochrone/telemetry";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { buildWorkflows } from "../domain/graphs/workflows.ts";
import { Tables } from "../domain/graphs/tables.ts";
import { Ingest } from "../domain/ingest/ingest.ts";
import { deploymentObject, fill, nodeObject, podObject } from "../testing/cluster.ts";
import { counter, istio, recordOf } from "../testing/records.ts";
import { StoreClusterWatch } from "./store-cluster-watch.ts";
import { WatchedFacts } from "./watched-facts.ts";

const SHAPE = { windowMs: 30_000, paneMs: 2000, panes: 15, fastPanes: 3 };
const STEP_MS = 2000;
const REQUESTS_PER_SECOND = 10;
const ISTIO_NAME = "service.istio.io/workload-name";

let clock: ManualClock;
let store: ClusterStore;
let watch: StoreClusterWatch;
let tables: Tables;
let facts: WatchedFacts;
let ingest: Ingest;
let ambiguous: string[];
let steps: number;

beforeEach(() => {
  clock = new ManualClock();
  store = createMemoryStore({ clock });
  watch = new StoreClusterWatch({ store, clock, random: seededRandom(1), logger: new MemoryLogger() });
  tables = new Tables(SHAPE, { maxLinks: 100, maxChannels: 100, maxPods: 100 });
  ambiguous = [];
  facts = new WatchedFacts(watch, clock, null, (workload) => ambiguous.push(workload));
  ingest = new Ingest(tables, { maxFutureMs: 1000, maxSeries: 1000, maxSources: 10 }, { facts });
  steps = 0;
});

afterEach(() => watch.stop());

async function started(...objects: readonly KubernetesObject[]): Promise<void> {
  const web = deploymentObject("shop", "web", "shop");
  await fill(store, [
    nodeObject("n1", "z1"),
    web,
    owned("web-6d4cf-a", "ReplicaSet", "web-6d4cf", { "pod-template-hash": "6d4cf" }),
    ...objects,
  ]);
  await watch.start();
  await clock.advance(10);
}

function owned(
  name: string,
  kind: string,
  owner: string,
  labels: Record<string, string> = {},
  annotations: Record<string, string> = {},
): KubernetesObject {
  const pod = podObject("shop", name, "n1", { labels: { ...labels, "isochrone.dev/workflow": "shop" } });
  const ownerReferences = [{ apiVersion: "v1", kind, name: owner, uid: owner, controller: true }];
  return { ...pod, metadata: { ...pod.metadata, annotations, ownerReferences } };
}

function replicaSet(name: string, kind: string, above: string): KubernetesObject {
  const ownerReferences = [{ apiVersion: "v1", kind, name: above, uid: above, controller: true }];
  return { ...KINDS.replicaSet, metadata: { namespace: "shop", name, ownerReferences } };
}

type Row = readonly [name: string, attributes: Attributes];

/** One row per source, from the Deployment web to the named workload. */
const mesh = (target: string): Row => ["istio_requests_total", istio("source", "web", target)];
const traces = (server: string): Row => [
  "traces_service_graph_request_total",
  { client: "web", server, client_k8s_namespace_name: "shop", server_k8s_namespace_name: "shop" },
];
const owners = (kind: string, name: string): Row => [
  "traces_service_graph_request_total",
  {
    client: "web",
    server: "anything",
    client_k8s_namespace_name: "shop",
    server_k8s_namespace_name: "shop",
    [`server_k8s_${kind}_name`]: name,
  },
];
const flows = (target: string): Row => [
  "hubble_http_requests_total",
  {
    reporter: "server",
    source_namespace: "shop",
    source_workload: "web",
    destination_namespace: "shop",
    destination_app: target,
    status: "200",
  },
];

async function take(rows: readonly Row[], count = 6): Promise<void> {
  for (let step = 0; step < count; step++) {
    const nowMs = clock.now();
    const value = (steps++ * REQUESTS_PER_SECOND * STEP_MS) / 1000;
    const metrics = rows.map(([name, attributes]) => counter(name, attributes, nowMs, value));
    ingest.take(recordOf("n1", metrics, { sequence: steps, arrivedAtMs: nowMs }), nowMs);
    await clock.advance(STEP_MS);
  }
}

function shown() {
  const stamp = { version: 1, nowMs: clock.now() - STEP_MS };
  const graphs = buildWorkflows(tables, watch.current(), stamp, "full");
  const shop = graphs.find(({ name }) => name === "shop");
  return {
    workloads: (shop?.workloads ?? []).map(({ kind, name, pods }) => `${kind} ${name} ${pods.length}`),
    channels: (shop?.channels ?? []).map(
      ({ source, target, requestsPerSecond }) => `${source} ${target} ${requestsPerSecond}`,
    ),
  };
}

const SCHEDULED = owned("report-28934720-x", "Job", "report-28934720");
const NEXT_RUN = owned("report-28934721-x", "Job", "report-28934721");
const ROLLOUT = [
  replicaSet("pay-77b", "Rollout", "pay"),
  owned("pay-77b-x", "ReplicaSet", "pay-77b", { "rollouts-pod-template-hash": "77b" }),
];
const CONFIG = owned("pay-3-x", "ReplicationController", "pay-3", { deploymentconfig: "pay" });
const KAFKA = [0, 1].map((index) => owned(`kafka-${index}`, "StrimziPodSet", "kafka"));
const STATEFUL = (labels: Record<string, string>, annotations = {}) =>
  owned("stock-0", "StatefulSet", "stock", labels, annotations);

describe("a channel joins the pods' own workload", () => {
  test.each([
    ["of a schedule, by Istio", [SCHEDULED, NEXT_RUN], mesh("report"), "CronJob report 2"],
    [
      "of a schedule, by the Job's name",
      [SCHEDULED, NEXT_RUN],
      owners("job", "report-28934721"),
      "CronJob report 2",
    ],
    ["of a schedule, by OpenTelemetry", [SCHEDULED], owners("cronjob", "report"), "CronJob report 1"],
    [
      "of a Job whose name ends with a number",
      [owned("l", "Job", "load-2")],
      owners("cronjob", "load"),
      "Job load-2 1",
    ],
    ["of a Rollout, by its name", ROLLOUT, mesh("pay"), "Rollout pay 1"],
    ["of a Rollout, by its ReplicaSet", ROLLOUT, traces("pay-77b"), "Rollout pay 1"],
    ["of a DeploymentConfig", [CONFIG], mesh("pay"), "DeploymentConfig pay 1"],
    ["of a DeploymentConfig, by its controller", [CONFIG], traces("pay-3"), "DeploymentConfig pay 1"],
    ["of a CloneSet", [owned("pay-x", "CloneSet", "pay")], mesh("pay"), "CloneSet pay 1"],
    ["of a controller that names its pods, by a pod", KAFKA, mesh("kafka-1"), "StrimziPodSet kafka 2"],
    [
      "of the name that Istio lets users set",
      [STATEFUL({ [ISTIO_NAME]: "warehouse" })],
      mesh("warehouse"),
      "StatefulSet stock 1",
    ],
    [
      "of that name, in traces",
      [STATEFUL({ [ISTIO_NAME]: "warehouse" })],
      traces("warehouse"),
      "StatefulSet stock 1",
    ],
    [
      "of a canonical service",
      [STATEFUL({ "service.istio.io/canonical-name": "goods" })],
      traces("goods"),
      "StatefulSet stock 1",
    ],
    [
      "of an app, by traces",
      [STATEFUL({ "app.kubernetes.io/name": "goods" })],
      traces("goods"),
      "StatefulSet stock 1",
    ],
    ["of an app, by Hubble", [STATEFUL({ app: "goods" })], flows("goods"), "StatefulSet stock 1"],
    [
      "of an annotation",
      [STATEFUL({}, { "resource.opentelemetry.io/service.name": "goods" })],
      traces("goods"),
      "StatefulSet stock 1",
    ],
  ])("%s", async (_, objects, row, workload) => {
    await started(...objects);
    await take([row]);
    const name = workload.split(" ")[1]!;
    expect(shown()).toEqual({
      workloads: [workload, "Deployment web 1"].sort((a, b) =>
        a.split(" ")[1]! < b.split(" ")[1]! ? -1 : 1,
      ),
      channels: [`web ${name} ${REQUESTS_PER_SECOND}`],
    });
    expect([ambiguous, facts.ambiguousNames]).toEqual([[], 0]);
  });

  test("whose pods are gone, by its pod template", async () => {
    const stock = deploymentObject("shop", "stock", "shop");
    const labels = { "isochrone.dev/workflow": "shop", [ISTIO_NAME]: "warehouse" };
    await started({ ...stock, spec: { template: { metadata: { labels } } } });
    await take([mesh("warehouse")]);
    expect(shown().workloads).toEqual(["Deployment stock 0", "Deployment web 1"]);
  });

  test("once where two sources call it differently", async () => {
    await started(STATEFUL({ [ISTIO_NAME]: "warehouse" }));
    await take([mesh("warehouse"), traces("stock")]);
    expect(shown().channels).toEqual([`web stock ${REQUESTS_PER_SECOND}`]);
  });

  test("that comes later than its name is used, and follows the name to another", async () => {
    await started();
    await take([mesh("warehouse")], 2);
    expect(shown().workloads).toEqual(["Unknown warehouse 0", "Deployment web 1"]);
    await store.create(STATEFUL({ [ISTIO_NAME]: "warehouse" }));
    await take([mesh("warehouse")], 2 * SHAPE.panes);
    expect(shown().channels).toEqual([`web stock ${REQUESTS_PER_SECOND}`]);
    await store.delete({ ...KINDS.pod, namespace: "shop", name: "stock-0" });
    await store.create(owned("depot-0", "StatefulSet", "depot", { [ISTIO_NAME]: "warehouse" }));
    await take([mesh("warehouse")], 2 * SHAPE.panes);
    expect(shown().channels).toEqual([`web depot ${REQUESTS_PER_SECOND}`]);
  });
});

describe("a name that means no single workload", () => {
  const DEPOT = (labels: Record<string, string>) => owned("depot-0", "StatefulSet", "depot", labels);

  test("of several is nobody's, told and counted until one is left", async () => {
    await started(STATEFUL({ [ISTIO_NAME]: "warehouse" }), DEPOT({ [ISTIO_NAME]: "warehouse" }));
    await take([mesh("warehouse")]);
    expect(shown().channels).toEqual([`web warehouse ${REQUESTS_PER_SECOND}`]);
    expect(shown().workloads).toContain("Unknown warehouse 0");
    expect([ambiguous, facts.ambiguousNames]).toEqual([["shop/warehouse"], 1]);
    await store.delete({ ...KINDS.pod, namespace: "shop", name: "depot-0" });
    await take([mesh("warehouse")], 2 * SHAPE.panes);
    expect(shown().channels).toEqual([`web stock ${REQUESTS_PER_SECOND}`]);
    expect(facts.ambiguousNames).toBe(0);
  });

  test("is not told where no source uses it", async () => {
    await started(
      STATEFUL({ "app.kubernetes.io/instance": "shop" }),
      DEPOT({ "app.kubernetes.io/instance": "shop" }),
    );
    await take([mesh("stock")]);
    expect([ambiguous, facts.ambiguousNames]).toEqual([[], 0]);
  });

  test("stays the workload's that is called so, and is told where a label gives it to another", async () => {
    await started(STATEFUL({ [ISTIO_NAME]: "depot" }), DEPOT({}));
    await take([mesh("depot")]);
    expect(shown().channels).toEqual([`web depot ${REQUESTS_PER_SECOND}`]);
    expect(ambiguous).toEqual(["shop/depot"]);
  });

  test("of an app isn't a workload's to Istio, which never names workloads so", async () => {
    await started(STATEFUL({ app: "goods" }));
    await take([mesh("goods")]);
    expect(shown().workloads).toContain("Unknown goods 0");
  });

  test("of another namespace means nothing here", async () => {
    await started(STATEFUL({ [ISTIO_NAME]: "warehouse" }));
    const elsewhere = { ...istio("source", "web", "warehouse"), destination_workload_namespace: "bank" };
    await take([["istio_requests_total", elsewhere]]);
    expect(shown().channels).toEqual([`web warehouse ${REQUESTS_PER_SECOND}`]);
  });
});

test("equal static pods of several nodes are one workload, and different ones of a node are several", async () => {
  const mirror = (name: string, node: string) => {
    const pod = owned(`${name}-${node}`, "Node", node);
    return { ...pod, spec: { ...pod.spec, nodeName: node } };
  };
  await started(
    mirror("etcd", "n1"),
    mirror("apiserver", "n1"),
    mirror("etcd", "n2"),
    mirror("apiserver", "n2"),
  );
  expect(shown().workloads).toEqual(["StaticPod apiserver 2", "StaticPod etcd 2", "Deployment web 1"]);
});

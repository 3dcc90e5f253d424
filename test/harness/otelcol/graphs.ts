import type { OutgoingRecord } from "@isochrone/bus";
import { createMemoryBus } from "@isochrone/bus/memory";
import { aggregatorSettings, createAggregator } from "@isochrone/aggregator";
import type { Aggregator } from "@isochrone/aggregator/testing";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createRegistry, loadSettings, seededRandom } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import type { ClusterGraphSnapshot, WorkflowGraphSnapshot } from "@isochrone/topology";
import type { Registry } from "prom-client";
import { NODE_NAME } from "./pages.ts";

/** An input with its arrival time: a bus record or an OTLP/HTTP request. */
export type Arrival =
  | (OutgoingRecord & { readonly topic: string; readonly atMs: number })
  | { readonly request: Uint8Array; readonly atMs: number };

interface TelemetryGraphs {
  readonly nodes: ClusterGraphSnapshot["nodes"];
  readonly workloads: WorkflowGraphSnapshot["workloads"];
  readonly channels: WorkflowGraphSnapshot["channels"];
}

export interface DrawnGraphs {
  readonly graphs: TelemetryGraphs;
  /** Reasons for unused inputs. */
  readonly unused: readonly string[];
}

const BUILD_INTERVAL_MS = 1000;
const TAKEN_WITHIN_MS = 10_000;

/** Builds graphs from these inputs alone, with the clock at each arrival time. */
export async function graphsOf(arrivals: readonly Arrival[]): Promise<DrawnGraphs> {
  const inOrder = arrivals.toSorted((a, b) => a.atMs - b.atMs);
  const clock = new ManualClock(inOrder[0]!.atMs - 100);
  const bus = createMemoryBus({ clock });
  const store = createMemoryStore({ clock });
  for (const object of SHOP) await store.create(object);
  const registry = createRegistry();
  const aggregator = createAggregator(aggregatorConfig(), {
    bus,
    store,
    clock,
    random: seededRandom(1),
    logger: new MemoryLogger(),
    registry,
  });
  await aggregator.start();
  try {
    for (const arrival of inOrder) {
      await clock.advance(Math.max(0, arrival.atMs - clock.now()));
      const before = await recordsTaken(registry);
      if ("request" in arrival) await post(aggregator, arrival.request);
      else await bus.publish(arrival.topic, [arrival]);
      await untilTaken(registry, before, () => clock.advance(0));
    }
    // Lets a build start after the last record.
    await clock.advance(BUILD_INTERVAL_MS);
    await clock.advance(BUILD_INTERVAL_MS);
    const get = async <T>(path: string): Promise<T> => {
      const answer = await aggregator.app.inject({ method: "GET", url: path });
      if (answer.statusCode !== 200) throw new Error(`${path}: ${answer.statusCode} ${answer.body}`);
      return answer.json<T>();
    };
    const cluster = await get<ClusterGraphSnapshot>("/api/v1/graph/cluster");
    const workflow = await get<WorkflowGraphSnapshot>("/api/v1/graph/workflows/shop/shop");
    const { workloads, channels } = workflow;
    return {
      graphs: rounded({ nodes: cluster.nodes, workloads, channels }),
      unused: await unusedReasons(registry),
    };
  } finally {
    await aggregator.stop();
    await bus.close();
  }
}

async function post(aggregator: Aggregator, request: Uint8Array): Promise<void> {
  const answer = await aggregator.app.inject({
    method: "POST",
    url: "/v1/metrics",
    headers: { "content-type": "application/x-protobuf" },
    payload: Buffer.from(request),
  });
  if (answer.statusCode !== 200) throw new Error(`refused: ${answer.statusCode} ${answer.body}`);
}

function aggregatorConfig(): Parameters<typeof createAggregator>[0] {
  return loadSettings([aggregatorSettings], {
    env: {},
    file: {
      aggregator: {
        host: "127.0.0.1",
        port: 0,
        windowMs: 60_000,
        paneMs: 2000,
        buildIntervalMs: BUILD_INTERVAL_MS,
      },
    },
  }).aggregator;
}

/** Rounds values: summation order changes the last digits, and ages depend on the time of the request. */
function rounded<T>(value: T): T {
  return JSON.parse(
    JSON.stringify(value, (key, part: unknown) => {
      if (/ageSeconds$|^observedAt$/i.test(key)) return undefined;
      return typeof part === "number" ? Number(part.toPrecision(9)) : part;
    }),
  ) as T;
}

/** The bus delivers a record over several turns of the event loop, independently of the manual clock. */
async function untilTaken(registry: Registry, before: number, turn: () => Promise<void>): Promise<void> {
  const deadline = performance.now() + TAKEN_WITHIN_MS;
  while ((await recordsTaken(registry)) === before) {
    if (performance.now() > deadline) throw new Error(`the aggregator took nothing in ${TAKEN_WITHIN_MS} ms`);
    await turn();
  }
}

async function recordsTaken(registry: Registry): Promise<number> {
  const metric = await registry.getSingleMetric("isochrone_aggregator_records_total")?.get();
  return metric?.values[0]?.value ?? 0;
}

async function unusedReasons(registry: Registry): Promise<string[]> {
  const metrics = await registry.getMetricsAsJSON();
  return metrics
    .filter(({ name }) => /_(refused|unused|too_late|duplicate_\w+)_total$/.test(name))
    .flatMap(({ name, values }) =>
      values
        .filter(({ value }) => value > 0)
        .map(({ labels }) => (labels as Record<string, string>)["reason"] ?? name),
    )
    .toSorted();
}

interface Owned {
  readonly kind: "Deployment" | "StatefulSet";
  readonly name: string;
  readonly pod: string;
  /** Owner of the pod. */
  readonly owner: { readonly kind: string; readonly name: string };
  readonly hash?: string;
}

function objectsOf({ kind, name, pod, owner, hash }: Owned): KubernetesObject[] {
  const labels = { app: name, "isochrone.dev/workflow": "shop" };
  const spec = { containers: [{ name: "app", image: "none" }] };
  return [
    {
      apiVersion: "apps/v1",
      kind,
      metadata: { namespace: "shop", name, labels },
      spec: {
        replicas: 1,
        selector: { matchLabels: { app: name } },
        template: { metadata: { labels }, spec },
      },
    },
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        namespace: "shop",
        name: pod,
        labels: { ...labels, ...(hash === undefined ? {} : { "pod-template-hash": hash }) },
        ownerReferences: [{ apiVersion: "apps/v1", uid: owner.name, controller: true, ...owner }],
      },
      spec: { nodeName: NODE_NAME, ...spec },
      status: { phase: "Running" },
    },
  ];
}

const SHOP: readonly KubernetesObject[] = [
  {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: NODE_NAME, labels: { "topology.kubernetes.io/zone": "z1" } },
    status: {
      capacity: { cpu: "4", memory: "8Gi" },
      allocatable: { cpu: "4", memory: "8Gi" },
      conditions: [{ type: "Ready", status: "True" }],
    },
  },
  ...objectsOf({
    kind: "Deployment",
    name: "web",
    pod: "web-7d4b9c6f5-x2x8p",
    owner: { kind: "ReplicaSet", name: "web-7d4b9c6f5" },
    hash: "7d4b9c6f5",
  }),
  ...objectsOf({ kind: "StatefulSet", name: "db", pod: "db-0", owner: { kind: "StatefulSet", name: "db" } }),
];

// AppGroups whose workload names differ from the objects' names. Selectors bind matching pods of the own
// namespace only, in graphs, extender responses and `isochrone score`.
import { aggregatorSettings, createAggregator } from "@isochrone/aggregator";
import type { Aggregator } from "@isochrone/aggregator/testing";
import { createMemoryBus } from "@isochrone/bus/memory";
import { scoreDump } from "@isochrone/cli/parsers";
import { CHANNELS_ANNOTATION, KINDS } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createStrategy, rejectedNodes } from "@isochrone/placement";
import { links, node } from "@isochrone/placement/testing";
import { createRegistry, loadSettings, seededRandom } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { createSchedulerPlugin, schedulerPluginSettings } from "@isochrone/scheduler-plugin";
import { GraphApiSource, type SchedulerPlugin } from "@isochrone/scheduler-plugin/testing";
import { ClusterGraph } from "@isochrone/topology";
import { GraphClient } from "@isochrone/topology/client";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

const BUILD_MS = 1_000;
/** Both directions, ms. */
const COSTS = [
  ["n1", "n2", 10],
  ["n1", "n3", 40],
  ["n2", "n3", 25],
] as const;
const NODES = ["n1", "n2", "n3"];

let clock: ManualClock;
let store: ClusterStore;
let logger: MemoryLogger;
let stopping: (() => Promise<void>)[];
let aggregator: Aggregator;
let graphs: GraphApiSource;
let plugin: SchedulerPlugin;

beforeEach(async () => {
  clock = new ManualClock();
  store = createMemoryStore({ clock });
  logger = new MemoryLogger();
  stopping = [];
  for (const name of NODES) await store.create(nodeObject(name));
  const { aggregator: settings } = loadSettings([aggregatorSettings], {
    env: {},
    file: { aggregator: { host: "127.0.0.1", port: 0, buildIntervalMs: BUILD_MS } },
  });
  const shared = { clock, random: seededRandom(1), logger };
  const bus = createMemoryBus({ clock });
  aggregator = createAggregator(settings, { ...shared, bus, store, registry: createRegistry() });
  await aggregator.start();
  stopping.push(() => aggregator.stop());
  graphs = new GraphApiSource({
    client: new GraphClient({ baseUrl: aggregator.address().url, timeoutMs: 30_000, fetch }),
    refreshMs: BUILD_MS,
    clock,
    logger,
    onFailure: () => undefined,
  });
  const { scheduler } = loadSettings([schedulerPluginSettings], {
    env: {},
    overrides: { scheduler: { port: 0 } },
  });
  plugin = createSchedulerPlugin(scheduler, {
    ...shared,
    registry: createRegistry(),
    graphs: {
      start: () => Promise.resolve(),
      stop: () => Promise.resolve(),
      cluster: () => clusterGraph(),
      workflow: (namespace, name) => graphs.workflow(namespace, name),
      ready: () => true,
    },
  });
  await plugin.start();
  stopping.push(() => plugin.stop());
});

afterEach(async () => {
  for (const stop of stopping.toReversed()) await stop();
});

function clusterGraph(): ClusterGraph {
  return new ClusterGraph({
    version: 1,
    observedAt: new Date(clock.now()).toISOString(),
    windowSeconds: 300,
    nodes: NODES.map((name) => node(name, 4_000, 4e9)),
    links: links(...COSTS.map(([a, b, ms]): [string, string, number] => [a, b, ms])),
  });
}

async function rebuilt(): Promise<void> {
  await clock.advance(2 * BUILD_MS);
  await graphs.refresh();
}

/** Annotations hold the costs as well, for the dump. */
function nodeObject(name: string): KubernetesObject {
  const capacity = { cpu: "8", memory: "8Gi", pods: "110" };
  const conditions = [{ type: "Ready", status: "True" }];
  const costs = COSTS.filter(([a, b]) => a === name || b === name).map(([a, b, ms]) => [
    `isochrone.dev/network-cost-${a === name ? b : a}`,
    String(ms),
  ]);
  const annotations = {
    "isochrone.dev/available-cpu": "4",
    "isochrone.dev/available-memory": "4G",
    ...Object.fromEntries(costs),
  };
  return {
    ...KINDS.node,
    metadata: { name, annotations },
    status: { capacity, allocatable: capacity, conditions },
  };
}

const labels = (group: string, selector: string): Record<string, string> => ({
  "appgroup.diktyo.x-k8s.io": group,
  "appgroup.diktyo.x-k8s.io.workload": selector,
});

/** A Deployment named by a Helm chart: its name begins with the release's. */
function deployment(namespace: string, release: string, group: string, selector: string): KubernetesObject {
  const own = { app: release };
  const template = { metadata: { labels: { ...own, ...labels(group, selector) } }, spec: { containers: [] } };
  return {
    ...KINDS.deployment,
    metadata: { namespace, name: release },
    spec: { replicas: 1, selector: { matchLabels: own }, template },
  };
}

interface PodFields {
  readonly namespace?: string;
  readonly group?: string;
  readonly selector: string;
  readonly release: string | null;
  readonly on: string | null;
}

function podObject({ namespace = "shop", group = "a1", selector, release, on }: PodFields): KubernetesObject {
  const owner = `${release}-5d4f`;
  const ownerReferences = [
    { apiVersion: "apps/v1", kind: "ReplicaSet", name: owner, uid: owner, controller: true },
  ];
  return {
    ...KINDS.pod,
    metadata: {
      namespace,
      name: `${release ?? `bare-${selector}`}-5d4f-${on ?? "new"}`,
      labels: {
        ...labels(group, selector),
        ...(release === null ? {} : { app: release, "pod-template-hash": "5d4f" }),
      },
      ...(release === null ? {} : { ownerReferences }),
    },
    spec: { ...(on === null ? {} : { nodeName: on }), containers: [{ name: "main", image: "none" }] },
    status: { phase: on === null ? "Pending" : "Running" },
  };
}

/** p1 calls p2 with a limit of 20 ms. A reference's name never equals a Deployment's. */
function appGroup(namespace: string, name: string, references: object = {}): KubernetesObject {
  const reference = (selector: string): object => ({
    kind: "Deployment",
    name: `${selector}-deployment`,
    selector,
    ...references,
  });
  const channels = [{ source: "p1-deployment", target: "p2-deployment", type: "HTTPRoute" }];
  return {
    ...KINDS.appGroup,
    metadata: { namespace, name, annotations: { [CHANNELS_ANNOTATION]: JSON.stringify(channels) } },
    spec: {
      workloads: [
        { workload: reference("p1"), dependencies: [{ workload: reference("p2"), maxNetworkCost: 20 }] },
        { workload: reference("p2") },
      ],
    },
  };
}

async function created(...objects: readonly KubernetesObject[]): Promise<void> {
  for (const object of objects) await store.create(object);
  await rebuilt();
}

async function rejected(release: string | null): Promise<string[]> {
  const Pod = podObject({ selector: "p1", release, on: null });
  const response = await fetch(`${plugin.address().url}/scheduler/filter`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ Pod, NodeNames: NODES }),
  });
  const { FailedNodes, failedNodes } = (await response.json()) as Record<string, Record<string, string>>;
  return Object.keys(FailedNodes ?? failedNodes ?? {});
}

function channels(): unknown[] {
  return graphs.workflow("shop", "a1")!.channels.map(({ source, target }) => `${source} -> ${target}`);
}

async function events(): Promise<unknown[]> {
  await clock.advance(5_000);
  const { items } = await store.list(KINDS.event);
  return items.map(({ reason, regarding, note }) => ({
    reason,
    of: (regarding as { name: string }).name,
    note,
  }));
}

/** Scores by the aggregator's graph and by a dump of the same objects. */
async function scored(release: string | null, strategy: string): Promise<[unknown, unknown]> {
  const pod = podObject({ selector: "p1", release, on: null });
  const graph = graphs.workflow("shop", "a1")!;
  const rule = createStrategy({ strategy });
  const problem = {
    pod: { namespace: "shop", name: pod.metadata.name, workload: release ?? "p1" },
    candidates: NODES,
    cluster: { graph: clusterGraph(), ageSeconds: 1 },
    workflow: { graph, ageSeconds: 1 },
  };
  const infeasible = rejectedNodes(rule, problem);
  const table = rule.score({ ...problem, infeasible });
  const live = NODES.map((name, row) => ({
    name,
    score: table.score[row],
    reason: infeasible.get(name) ?? null,
  }));
  const kinds = [KINDS.node, KINDS.pod, KINDS.deployment, KINDS.appGroup];
  const items = (await Promise.all(kinds.map((kind) => store.list(kind)))).flatMap((list) => list.items);
  const offline = scoreDump({
    dumpText: JSON.stringify({ apiVersion: "v1", kind: "List", items }),
    podText: JSON.stringify(pod),
    strategy,
  }).nodes.map(({ name, score, reason }) => ({ name, score, reason }));
  return [live, offline];
}

describe("an AppGroup's dependencies bind the pods that carry its selectors", () => {
  const group = appGroup("shop", "a1");

  test("of Deployments that a Helm release calls otherwise", async () => {
    await created(
      group,
      deployment("shop", "rel-web", "a1", "p1"),
      deployment("shop", "rel-db", "a1", "p2"),
      podObject({ selector: "p2", release: "rel-db", on: "n2" }),
    );
    expect(channels()).toEqual(["rel-web -> rel-db"]);
    // n3 is 25 ms from n2.
    expect(await rejected("rel-web")).toEqual(["n3"]);
    expect(await events()).toEqual([]);
  });

  test("of bare pods, also of a new one that no graph shows yet", async () => {
    await created(
      group,
      podObject({ selector: "p1", release: null, on: "n1" }),
      podObject({ selector: "p2", release: null, on: "n2" }),
    );
    expect(channels()).toEqual(["p1 -> p2"]);
    expect(await rejected(null)).toEqual(["n3"]);
  });

  test.each(["network-overhead", "communication-affinity"])(
    "with the scores of a dump by %s",
    async (strategy) => {
      await created(
        group,
        deployment("shop", "rel-web", "a1", "p1"),
        podObject({ selector: "p2", release: null, on: "n2" }),
        podObject({ selector: "p2", release: null, on: "n1" }),
        // Its selectors are equal, but it does not apply here.
        appGroup("shop", "a2"),
        deployment("shop", "other-db", "a2", "p2"),
        podObject({ group: "a2", selector: "p2", release: "other-db", on: "n3" }),
      );
      const [live, offline] = await scored("rel-web", strategy);
      expect(offline).toEqual(live);
      expect(new Set((live as { score: number }[]).map(({ score }) => score)).size).toBeGreaterThan(1);
    },
  );
});

test("an AppGroup whose selector matches nothing is told by log, metric and Event, once, and works when it does", async () => {
  await created(appGroup("shop", "a1"), deployment("shop", "rel-web", "a1", "p1"));
  const note =
    'AppGroup shop/a1: no pod and no pod template has the labels appgroup.diktyo.x-k8s.io=a1 and appgroup.diktyo.x-k8s.io.workload=SELECTOR for the selector "p2"';
  const told = [{ reason: "SelectorMatchesNothing", of: "a1", note }];
  expect(await events()).toEqual(told);
  const lines = logger.lines.filter(({ fields }) => fields["reason"] === "unmatched");
  expect(lines.map(({ fields }) => [fields["subject"], fields["rule"]])).toEqual([
    ["AppGroup shop/a1", note],
  ]);
  const metric = async (): Promise<string> => (await aggregator.app.inject({ url: "/metrics" })).body;
  expect(await metric()).toContain('isochrone_aggregator_declarations_refused{reason="unmatched"} 1');
  // Other changes don't repeat the message.
  await created(
    deployment("shop", "p2", "a1", "p9"),
    podObject({ selector: "p1", release: "rel-web", on: "n1" }),
  );
  expect(channels()).toEqual([]);
  expect(await events()).toEqual(told);
  await created(podObject({ selector: "p2", release: null, on: "n2" }));
  expect(await metric()).toContain('isochrone_aggregator_declarations_refused{reason="unmatched"} 0');
  expect(await rejected("rel-web")).toEqual(["n3"]);
});

describe("a tenant changes nothing of another namespace's AppGroup", () => {
  const victim = (): readonly KubernetesObject[] => [
    appGroup("shop", "a1"),
    deployment("shop", "rel-web", "a1", "p1"),
    podObject({ selector: "p1", release: "rel-web", on: "n1" }),
    podObject({ selector: "p2", release: "rel-db", on: "n2" }),
  ];
  const lure = (selector: string): KubernetesObject =>
    podObject({ namespace: "evil", selector, release: "lure", on: "n3" });

  test.each<readonly [string, () => readonly KubernetesObject[]]>([
    ["the labels on its own pods", () => [lure("p1")]],
    ["the labels of a dependency on its own pods", () => [lure("p2")]],
    ["an AppGroup of the same name", () => [lure("p2"), appGroup("evil", "a1")]],
    [
      "one that names the victim's namespace",
      () => [lure("p2"), appGroup("evil", "a1", { namespace: "shop" })],
    ],
  ])("by %s", async (_, objects) => {
    await created(...victim());
    const { channels: before, workloads } = graphs.workflow("shop", "a1")!;
    const answers = await rejected("rel-web");
    await created(...objects());
    const after = graphs.workflow("shop", "a1")!;
    expect({ channels: after.channels, workloads: after.workloads }).toEqual({ channels: before, workloads });
    expect(await rejected("rel-web")).toEqual(answers);
    expect(answers).toEqual(["n3"]);
  });
});

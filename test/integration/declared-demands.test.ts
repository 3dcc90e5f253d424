// A tenant's declarations affect no pods of another namespace unless that one or the operator agrees.
import { aggregatorSettings, createAggregator } from "@isochrone/aggregator";
import type { Aggregator } from "@isochrone/aggregator/testing";
import { DEPENDENCIES_ANNOTATION } from "@isochrone/aggregator/testing";
import { createMemoryBus } from "@isochrone/bus/memory";
import { CHANNELS_ANNOTATION, KINDS } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { CommunicationAffinity, rejectedNodes, SchedulingModel, workflowPlan } from "@isochrone/placement";
import { links, node, StrictNetworkOverhead, UpstreamNetworkOverhead } from "@isochrone/placement/testing";
import { createRegistry, loadSettings, seededRandom } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { createSchedulerPlugin, schedulerPluginSettings } from "@isochrone/scheduler-plugin";
import { GraphApiSource, type GraphSource, type SchedulerPlugin } from "@isochrone/scheduler-plugin/testing";
import { ClusterGraph } from "@isochrone/topology";
import type { WorkflowGraph } from "@isochrone/topology";
import { GraphClient } from "@isochrone/topology/client";
import { array, assert, asyncProperty, constantFrom, record, tuple } from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

const BUILD_MS = 1_000;
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
  // The victim: web on n1 calls db on n2. The tenant on n3 tries to attract the victim's pods.
  await store.create(deployment("shop", "web", calls({ name: "db" })));
  await store.create(deployment("shop", "db"));
  await store.create(deployment("evil", "lure"));
  await store.create(podObject("shop", "web", "n1"));
  await store.create(podObject("shop", "db", "n2"));
  await store.create(podObject("evil", "lure", "n3"));
});

afterEach(async () => {
  for (const stop of stopping.toReversed()) await stop();
});

async function start(settings: Readonly<Record<string, unknown>> = {}): Promise<void> {
  const loaded = loadSettings([aggregatorSettings], {
    env: {},
    file: { aggregator: { host: "127.0.0.1", port: 0, buildIntervalMs: BUILD_MS, ...settings } },
  });
  const shared = { clock, random: seededRandom(1), logger };
  aggregator = createAggregator(loaded.aggregator, {
    ...shared,
    bus: createMemoryBus({ clock }),
    store,
    registry: createRegistry(),
  });
  await aggregator.start();
  stopping.push(() => aggregator.stop());
  graphs = new GraphApiSource({
    client: new GraphClient({ baseUrl: aggregator.address().url, timeoutMs: 10_000, fetch }),
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
    graphs: withCosts(graphs),
  });
  await plugin.start();
  stopping.push(() => plugin.stop());
}

function withCosts(source: GraphApiSource): GraphSource {
  return {
    start: () => Promise.resolve(),
    stop: () => Promise.resolve(),
    cluster: () => clusterGraph(),
    workflow: (namespace, name) => source.workflow(namespace, name),
    ready: () => true,
  };
}

function clusterGraph(): ClusterGraph {
  return new ClusterGraph({
    version: 1,
    observedAt: new Date(clock.now()).toISOString(),
    windowSeconds: 300,
    nodes: NODES.map((name) => node(name, 4_000, 4e9)),
    links: links(["n1", "n2", 10], ["n1", "n3", 40], ["n2", "n3", 25]),
  });
}

async function rebuilt(): Promise<void> {
  await clock.advance(2 * BUILD_MS);
  await graphs.refresh();
}

function calls(...callees: readonly object[]): Record<string, string> {
  return { [DEPENDENCIES_ANNOTATION]: JSON.stringify(callees) };
}

function nodeObject(name: string): KubernetesObject {
  const capacity = { cpu: "8", memory: "8Gi", pods: "110" };
  const conditions = [{ type: "Ready", status: "True" }];
  return { ...KINDS.node, metadata: { name }, status: { capacity, allocatable: capacity, conditions } };
}

function deployment(
  namespace: string,
  name: string,
  annotations: Record<string, string> = {},
  workflow = "flow",
): KubernetesObject {
  const labels = { app: name, "isochrone.dev/workflow": workflow };
  const spec = { containers: [{ name: "main", image: "none" }] };
  return {
    ...KINDS.deployment,
    metadata: { namespace, name, annotations },
    spec: { replicas: 0, selector: { matchLabels: { app: name } }, template: { metadata: { labels }, spec } },
  };
}

function podObject(namespace: string, app: string, on: string | null): KubernetesObject {
  return {
    ...KINDS.pod,
    metadata: {
      namespace,
      name: `${app}-5d4f-${on ?? "new"}`,
      labels: { app, "isochrone.dev/workflow": "flow", "pod-template-hash": "5d4f" },
      ownerReferences: [
        { apiVersion: "apps/v1", kind: "ReplicaSet", name: `${app}-5d4f`, uid: app, controller: true },
      ],
    },
    spec: { ...(on === null ? {} : { nodeName: on }), containers: [{ name: "main", image: "none" }] },
    status: { phase: on === null ? "Pending" : "Running" },
  };
}

type AppGroupChannel = { readonly from: object; readonly to: object; readonly [demand: string]: unknown };

function appGroup(
  namespace: string,
  name: string,
  channels: readonly AppGroupChannel[],
  annotations: Record<string, string> = {},
): KubernetesObject {
  return {
    ...KINDS.appGroup,
    metadata: { namespace, name, annotations },
    spec: {
      workloads: channels.map(({ from, to, ...demands }) => ({
        workload: { kind: "Deployment", ...from },
        dependencies: [{ workload: { kind: "Deployment", ...to }, ...demands }],
      })),
    },
  };
}

async function asked(
  namespace: string,
  app: string,
): Promise<{ failed: Record<string, string>; priorities: unknown }> {
  const { url } = plugin.address();
  const body = JSON.stringify({ Pod: podObject(namespace, app, null), NodeNames: NODES });
  const post = async (verb: string): Promise<unknown> => {
    const headers = { "content-type": "application/json" };
    return (await fetch(`${url}/scheduler/${verb}`, { method: "POST", headers, body })).json();
  };
  const { FailedNodes, failedNodes } = (await post("filter")) as Record<string, Record<string, string>>;
  return { failed: FailedNodes ?? failedNodes ?? {}, priorities: await post("prioritize") };
}

async function ofVictim(): Promise<unknown> {
  const workflow = graphs.workflow("shop", "flow")!;
  const answers = [await asked("shop", "web"), await asked("shop", "db")];
  return { answers, scores: scores(workflow), plan: await planned(workflow) };
}

function scores(graph: WorkflowGraph): unknown {
  const strategies = [
    new CommunicationAffinity("normalized"),
    new CommunicationAffinity("raw"),
    new StrictNetworkOverhead(),
    new UpstreamNetworkOverhead(),
  ];
  return ["web", "db"].flatMap((workload) =>
    strategies.map((strategy) => {
      const problem = {
        pod: { namespace: "shop", name: "new", workload },
        candidates: NODES,
        cluster: { graph: clusterGraph(), ageSeconds: 1 },
        workflow: { graph, ageSeconds: 1 },
      };
      return [[...strategy.score(problem).score], [...rejectedNodes(strategy, problem)]];
    }),
  );
}

async function planned(workflow: WorkflowGraph): Promise<unknown> {
  const { items: pods } = await store.list(KINDS.pod);
  const { items: nodes } = await store.list(KINDS.node);
  return workflowPlan({
    model: SchedulingModel.of({ nodes, pods, namespaces: [] }),
    pods,
    cluster: clusterGraph(),
    workflow,
    seed: 1,
    budgetMs: 50,
    now: () => clock.monotonic(),
  });
}

/** Objects in the tenant's namespace that try to attract the victim's pods to n3. */
const ATTEMPTS: readonly (readonly [string, () => KubernetesObject])[] = [
  [
    "an annotation that calls the victim's workload at no distance and with an absurd priority",
    () =>
      deployment(
        "evil",
        "caller",
        calls(
          { name: "web", namespace: "shop", maxNetworkCost: 0, priority: 1e12, type: "HTTPRoute" },
          { name: "db", namespace: "shop", maxNetworkCost: 0, minBandwidth: "1P", priority: 1e12 },
        ),
      ),
  ],
  [
    "an AppGroup with a channel from the victim's workload to its own",
    () =>
      appGroup("evil", "to-own", [
        { from: { name: "web", namespace: "shop" }, to: { name: "lure" }, maxNetworkCost: 0 },
      ]),
  ],
  [
    "an AppGroup with a channel between two of the victim's workloads",
    () =>
      appGroup("evil", "between", [
        {
          from: { name: "db", namespace: "shop" },
          to: { name: "web", namespace: "shop" },
          maxNetworkCost: 0,
          minBandwidth: "1P",
        },
      ]),
  ],
  [
    "an AppGroup whose annotation gives such channels types and priorities",
    () =>
      appGroup(
        "evil",
        "typed",
        [{ from: { name: "lure" }, to: { name: "web", namespace: "shop" }, maxNetworkCost: 0 }],
        {
          [CHANNELS_ANNOTATION]: JSON.stringify([
            { source: "lure", target: "shop/web", type: "HTTPRoute", priority: 1e12 },
            { source: "shop/web", target: "shop/web", priority: 1e12 },
            { source: "shop/web", target: "shop/db", priority: 1e12 },
          ]),
        },
      ),
  ],
  [
    "an AppGroup that is called as the victim's workflow and names its workloads",
    () =>
      appGroup("evil", "flow", [
        {
          from: { name: "web", namespace: "shop" },
          to: { name: "lure", namespace: "evil" },
          maxNetworkCost: 0,
        },
      ]),
  ],
  [
    "a Deployment with a name and a workflow like the victim's",
    () =>
      deployment("evil", "web", calls({ name: "db", namespace: "shop", maxNetworkCost: 0, priority: 100 })),
  ],
];

describe("what one namespace declares", () => {
  test.each(ATTEMPTS)(
    "as %s leaves another one's filters, scores and plans as they are",
    async (_, object) => {
      await start();
      await rebuilt();
      const before = await ofVictim();
      const graph = graphs.workflow("shop", "flow")!;
      await store.create(object());
      await rebuilt();
      expect(await ofVictim()).toEqual(before);
      const { workloads, channels } = graphs.workflow("shop", "flow")!;
      expect({ workloads, channels }).toEqual({ workloads: graph.workloads, channels: graph.channels });
    },
  );

  test("whatever it is leaves another one's filters, scores and plans as they are", async () => {
    await start();
    await rebuilt();
    const before = await ofVictim();
    const end = record(
      {
        name: constantFrom("web", "db", "lure", "ghost"),
        namespace: constantFrom("shop", "evil", "pay"),
      },
      { requiredKeys: ["name"] },
    );
    const demands = record(
      {
        maxNetworkCost: constantFrom(0, 1, 30, 1e300),
        minBandwidth: constantFrom("1", "10G", "1P"),
        priority: constantFrom(0, 100, 1e12),
        type: constantFrom("HTTPRoute", "Own"),
      },
      { requiredKeys: [] },
    );
    const called = tuple(end, demands).map(([to, needs]) => ({ ...to, ...needs }));
    const declared = tuple(end, end, demands).map(([from, to, needs]) => ({ from, to, ...needs }));
    await assert(
      asyncProperty(
        array(called, { maxLength: 5 }),
        array(declared, { maxLength: 5 }),
        constantFrom("web", "caller"),
        async (callees, channels, name) => {
          await store.create(deployment("evil", name, calls(...callees)));
          await store.create(appGroup("evil", "flow", channels));
          await rebuilt();
          expect(await ofVictim()).toEqual(before);
          await store.delete({ ...KINDS.deployment, namespace: "evil", name });
          await store.delete({ ...KINDS.appGroup, namespace: "evil", name: "flow" });
        },
      ),
      { numRuns: 25, seed: 17 },
    );
  });

  const demanding = (): KubernetesObject =>
    appGroup("evil", "group", [
      { from: { name: "lure" }, to: { name: "web", namespace: "shop" }, maxNetworkCost: 0 },
    ]);

  test("binds its own pods, whose channel ends at the other one's", async () => {
    await start();
    await store.create(demanding());
    await rebuilt();
    const { failed } = await asked("evil", "lure");
    expect(Object.keys(failed)).toEqual(["n2", "n3"]);
    expect(failed["n3"]).toContain("maxNetworkCost of channel lure -> web is 0");
  });

  test("binds the other one's pods when that declares the channel too", async () => {
    await start();
    await store.create(demanding());
    const from = { name: "lure", namespace: "evil" };
    await store.create(appGroup("shop", "agreed", [{ from, to: { name: "web" } }]));
    await rebuilt();
    expect(Object.keys((await asked("shop", "web")).failed)).toEqual(["n1", "n2"]);
  });

  test("binds the other one's pods when the operator allows it, and is told of what it may not", async () => {
    await start({ declareFor: ["evil->shop"] });
    await store.create(demanding());
    const away = { from: { name: "web", namespace: "pay" }, to: { name: "lure" } };
    await store.create(appGroup("evil", "away", [away]));
    await rebuilt();
    expect(Object.keys((await asked("shop", "web")).failed)).toEqual(["n1", "n2"]);
    await clock.advance(5_000);
    const { items: events } = await store.list(KINDS.event);
    expect(events.map(({ reason, regarding }) => [reason, (regarding as { name: string }).name])).toEqual([
      ["DeclarationRefused", "away"],
    ]);
    const { body } = await aggregator.app.inject({ url: "/metrics" });
    expect(body).toContain('isochrone_aggregator_declarations_refused{reason="other_namespace"} 1');
  });
});

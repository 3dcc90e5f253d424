// The scheduler-plugin's reads of a real aggregator's graphs: its requests, and that it never falls behind.
import { aggregatorSettings, createAggregator } from "@isochrone/aggregator";
import type { Aggregator } from "@isochrone/aggregator/testing";
import { createMemoryBus } from "@isochrone/bus/memory";
import { KINDS, type ClusterStore, type KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createRegistry, loadSettings, seededRandom, systemRandom } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { GraphApiSource } from "@isochrone/scheduler-plugin/testing";
import { GraphClient } from "@isochrone/topology/client";
import type { GraphFetch } from "@isochrone/topology/testing";
import { afterEach, beforeEach, expect, test } from "vitest";

const BUILD_MS = 1_000;

interface Asked {
  readonly path: string;
  readonly status: number;
  readonly graphs: readonly string[];
}

let clock: ManualClock;
let store: ClusterStore;
let aggregator: Aggregator;
let source: GraphApiSource;
let asked: Asked[];
let broken: string | null;

beforeEach(async () => {
  clock = new ManualClock();
  store = createMemoryStore({ clock });
  for (const name of ["a", "b", "c"]) await store.create(deployment(name));
  aggregator = await startAggregator();
  asked = [];
  broken = null;
  source = sourceOf(aggregator.address().url);
});

afterEach(async () => {
  await aggregator.stop();
});

async function startAggregator(port = 0): Promise<Aggregator> {
  const { aggregator: config } = loadSettings([aggregatorSettings], {
    env: {},
    file: { aggregator: { host: "127.0.0.1", port, buildIntervalMs: BUILD_MS } },
  });
  const started = createAggregator(config, {
    bus: createMemoryBus({ clock }),
    store,
    clock,
    random: systemRandom,
    logger: new MemoryLogger(),
    registry: createRegistry(),
  });
  await started.start();
  await clock.advance(0);
  return started;
}

function sourceOf(baseUrl: string): GraphApiSource {
  return new GraphApiSource({
    client: new GraphClient({ baseUrl, timeoutMs: 10_000, fetch: observed }),
    refreshMs: BUILD_MS,
    clock,
    logger: new MemoryLogger(),
    onFailure: () => undefined,
  });
}

const observed: GraphFetch = async (url, init) => {
  const { pathname } = new URL(url);
  if (broken !== null && pathname.endsWith(broken)) throw new TypeError("fetch failed");
  const answer = await fetch(url, init);
  const text = answer.status === 304 ? null : await answer.text();
  const { graphs = [] } = JSON.parse(text ?? "{}") as { graphs?: { name: string }[] };
  asked.push({ path: pathname, status: answer.status, graphs: graphs.map(({ name }) => name) });
  return new Response(text, { status: answer.status, headers: answer.headers });
};

const taken = (): Asked[] => asked.splice(0);

function deployment(name: string): KubernetesObject {
  const labels = { app: name, "isochrone.dev/workflow": name };
  return {
    ...KINDS.deployment,
    metadata: { namespace: "shop", name },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "none" }] } },
    },
  };
}

function pod(workflow: string, node: string): KubernetesObject {
  return {
    ...KINDS.pod,
    metadata: {
      namespace: "shop",
      name: `${workflow}-of-itself`,
      labels: { "isochrone.dev/workflow": workflow },
    },
    spec: { nodeName: node, containers: [{ name: "main", image: "none" }] },
    status: { phase: "Running" },
  };
}

const CLUSTER = "/api/v1/graph/cluster";
const WORKFLOWS = "/api/v1/graph/workflows";

test("all workflows come in one answer, and while nothing is built one empty answer is all there is", async () => {
  await source.refresh();
  expect(source.ready()).toBe(true);
  expect(taken()).toEqual([
    { path: CLUSTER, status: 200, graphs: [] },
    { path: WORKFLOWS, status: 200, graphs: ["a", "b", "c"] },
  ]);
  for (let round = 0; round < 3; round++) {
    await source.refresh();
    expect(taken()).toEqual([{ path: CLUSTER, status: 304, graphs: [] }]);
  }
});

test("a new version brings the workflows that changed, and the others are as new as it", async () => {
  await source.refresh();
  const [a, b] = [source.workflow("shop", "a")!, source.workflow("shop", "b")!];
  taken();
  await store.create(pod("b", "n1"));
  await clock.advance(BUILD_MS);
  await source.refresh();
  expect(taken()).toEqual([
    { path: CLUSTER, status: 200, graphs: [] },
    { path: WORKFLOWS, status: 200, graphs: ["b"] },
  ]);
  const [laterA, laterB] = [source.workflow("shop", "a")!, source.workflow("shop", "b")!];
  expect(laterB.nodeOf("shop", "b-of-itself")).toBe("n1");
  expect(b.nodeOf("shop", "b-of-itself")).toBeUndefined();
  expect(laterA.workloads).toBe(a.workloads);
  expect(laterA.observedAt).toBe(source.clusterSnapshot()!.observedAt);
  expect(Date.parse(laterA.observedAt) - Date.parse(a.observedAt)).toBe(BUILD_MS);
  expect(laterA.version).toBe(laterB.version);
});

test("changes of several versions are all caught up with", async () => {
  await source.refresh();
  taken();
  for (const name of ["a", "c"]) {
    await store.create(pod(name, "n1"));
    await clock.advance(BUILD_MS);
  }
  await clock.advance(BUILD_MS);
  await source.refresh();
  expect(taken().at(-1)!.graphs).toEqual(["a", "c"]);
});

test("workflows come and go", async () => {
  await source.refresh();
  await store.delete({ ...KINDS.deployment, namespace: "shop", name: "a" });
  await store.create(deployment("d"));
  await clock.advance(BUILD_MS);
  await source.refresh();
  expect(["a", "b", "c", "d"].filter((name) => source.workflow("shop", name) !== null)).toEqual([
    "b",
    "c",
    "d",
  ]);
  // The recreated workload does not inherit data of its predecessor.
  await store.create(deployment("a"));
  await store.create(pod("a", "n7"));
  await clock.advance(BUILD_MS);
  await source.refresh();
  expect(source.workflow("shop", "a")!.nodeOf("shop", "a-of-itself")).toBe("n7");
});

test("an aggregator that begins anew, and counts versions from 1 again, is read as a whole", async () => {
  await source.refresh();
  const { version } = source.clusterSnapshot()!;
  const { port } = new URL(aggregator.address().url);
  await aggregator.stop();
  await expect(source.refresh()).rejects.toThrow(/api\/v1\/graph\/cluster/);
  expect(source.workflow("shop", "a")).not.toBeNull();
  taken();

  await store.create(pod("c", "n2"));
  aggregator = await startAggregator(Number(port));
  await source.refresh();
  expect(source.clusterSnapshot()!.version).toBe(version);
  expect(taken()).toEqual([
    { path: CLUSTER, status: 200, graphs: [] },
    { path: WORKFLOWS, status: 200, graphs: ["a", "b", "c"] },
  ]);
  expect(source.workflow("shop", "c")!.nodeOf("shop", "c-of-itself")).toBe("n2");
});

test("what was missed when the connection broke between two requests is asked for again", async () => {
  await source.refresh();
  await store.create(pod("b", "n1"));
  await clock.advance(BUILD_MS);
  broken = "/workflows";
  await expect(source.refresh()).rejects.toThrow(/api\/v1\/graph\/workflows/);
  await expect(source.refresh()).rejects.toThrow(/api\/v1\/graph\/workflows/);
  expect(source.workflow("shop", "b")!.nodeOf("shop", "b-of-itself")).toBeUndefined();
  broken = null;
  taken();
  await source.refresh();
  expect(taken()).toEqual([
    { path: CLUSTER, status: 304, graphs: [] },
    { path: WORKFLOWS, status: 200, graphs: ["b"] },
  ]);
  expect(source.workflow("shop", "b")!.nodeOf("shop", "b-of-itself")).toBe("n1");
});

test("after any sequence of changes, failures and restarts it shows what the aggregator shows", async () => {
  const random = seededRandom(7);
  const names = ["a", "b", "c", "d", "e"];
  const pick = (): string => names[Math.floor(random.next() * names.length)]!;
  for (let step = 0; step < 150; step++) {
    const name = pick();
    const dice = random.next();
    const exists = (await store.list(KINDS.deployment)).items.some(({ metadata }) => metadata.name === name);
    if (dice < 0.3 && exists) await store.delete({ ...KINDS.deployment, namespace: "shop", name });
    else if (dice < 0.3) await store.create(deployment(name));
    else if (dice < 0.6) {
      const { items } = await store.list(KINDS.pod);
      const old = items.find(({ metadata }) => metadata.name === `${name}-of-itself`);
      if (old !== undefined) await store.delete({ ...KINDS.pod, namespace: "shop", name: old.metadata.name });
      else await store.create(pod(name, `n${step}`));
    } else if (dice < 0.65) {
      const { port } = new URL(aggregator.address().url);
      await aggregator.stop();
      aggregator = await startAggregator(Number(port));
    } else if (dice < 0.85) await clock.advance(BUILD_MS);
    broken = random.next() < 0.15 ? "/workflows" : null;
    await source.refresh().catch(() => undefined);
  }
  broken = null;
  await source.refresh();
  const client = new GraphClient({ baseUrl: aggregator.address().url, timeoutMs: 10_000 });
  const { workflows } = (await client.workflows()).value;
  for (const name of names) {
    const isListed = workflows.some((workflow) => workflow.name === name);
    const shown = source.workflow("shop", name);
    expect([name, shown !== null]).toEqual([name, isListed]);
    if (shown === null) continue;
    const { value } = await client.workflow("shop", name);
    expect(shown.workloads).toEqual(value.workloads);
    expect(shown.observedAt).toBe(value.observedAt);
  }
  expect(workflows.length).toBeGreaterThan(0);
});

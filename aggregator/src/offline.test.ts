// The offline API and the service give equal graphs for equal objects.
import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { seededRandom } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { StoreClusterWatch } from "./adapters/store-cluster-watch.ts";
import { Tables } from "./domain/graphs/tables.ts";
import { buildWorkflows } from "./domain/graphs/workflows.ts";
import { OfflineCluster } from "./offline.ts";
import { fill } from "./testing/cluster.ts";

const NAMES = ["a", "b", "c"] as const;
const name = fc.constantFrom(...NAMES);
const namespace = fc.constantFrom("shop", "pay");
const reference = fc.record(
  { name, selector: name, namespace, kind: fc.constant("Deployment") },
  { requiredKeys: ["kind"] },
);
const labels = fc.record(
  {
    "appgroup.diktyo.x-k8s.io": name,
    "appgroup.diktyo.x-k8s.io.workload": name,
    "isochrone.dev/workflow": name,
    "pod-template-hash": fc.constant("5d9"),
  },
  { requiredKeys: [] },
);
const owner = fc.constantFrom(
  ...NAMES.map((each) => ["ReplicaSet", `${each}-5d9`] as const),
  ["StatefulSet", "a"] as const,
  ["Job", "b-28934720"] as const,
  ["StreamJob", "c"] as const,
);
const ownedBy = ([kind, called]: readonly [string, string]): object => ({
  ownerReferences: [{ apiVersion: "v1", kind, name: called, uid: `uid-${called}`, controller: true }],
});

const pod = fc
  .record({ namespace, labels, owner: fc.option(owner), node: fc.option(name), isDone: fc.boolean() })
  .map((drawn) => (at: number): KubernetesObject => ({
    ...KINDS.pod,
    metadata: {
      namespace: drawn.namespace,
      name: `p-${at}`,
      labels: drawn.labels,
      ...(drawn.owner === null ? {} : ownedBy(drawn.owner)),
    },
    spec: { ...(drawn.node === null ? {} : { nodeName: drawn.node }), containers: [{ name: "c" }] },
    status: { phase: drawn.isDone ? "Succeeded" : "Running" },
  }));
const dependencies = fc.array(
  fc.record(
    { name, namespace, priority: fc.nat(9), maxNetworkCost: fc.integer({ min: -1, max: 50 }) },
    { requiredKeys: [] },
  ),
  { maxLength: 3 },
);
const deployment = fc
  .record({ namespace, labels, dependencies: fc.oneof(dependencies, fc.constant("none")) })
  .map((drawn) => (at: number): KubernetesObject => ({
    ...KINDS.deployment,
    metadata: {
      namespace: drawn.namespace,
      name: NAMES[at % NAMES.length]!,
      annotations: { "isochrone.dev/dependencies": JSON.stringify(drawn.dependencies) },
    },
    spec: { selector: { matchLabels: {} }, template: { metadata: { labels: drawn.labels } } },
  }));
const replicaSet = fc
  .record({ namespace, owned: fc.boolean() })
  .map((drawn) => (at: number): KubernetesObject => ({
    ...KINDS.replicaSet,
    metadata: {
      namespace: drawn.namespace,
      name: `${NAMES[at % NAMES.length]}-5d9`,
      ...(drawn.owned ? ownedBy(["Deployment", NAMES[(at + 1) % NAMES.length]!]) : {}),
    },
  }));
const appGroup = fc
  .record({
    namespace,
    isGenerated: fc.boolean(),
    workloads: fc.array(
      fc.record({
        workload: reference,
        dependencies: fc.array(fc.record({ workload: reference }), { maxLength: 2 }),
      }),
      { maxLength: 3 },
    ),
  })
  .map((drawn) => (at: number): KubernetesObject => ({
    ...KINDS.appGroup,
    metadata: {
      namespace: drawn.namespace,
      name: NAMES[at % NAMES.length]!,
      annotations: drawn.isGenerated ? { "isochrone.dev/appgroup-generated": "x" } : {},
    },
    spec: { workloads: drawn.workloads },
  }));
const service = fc.record({ namespace, selector: labels }).map((drawn) => (at: number): KubernetesObject => ({
  ...KINDS.service,
  metadata: { namespace: drawn.namespace, name: `s-${at}` },
  spec: { selector: drawn.selector, clusterIP: "10.0.0.1", trafficDistribution: "PreferClose" },
}));
const objects = fc
  .array(fc.oneof({ weight: 3, arbitrary: pod }, deployment, replicaSet, appGroup, service), {
    maxLength: 30,
  })
  .map((makers) => {
    const made = makers.map((make, at) => make(at));
    const idOf = ({ kind, metadata }: KubernetesObject): string =>
      `${kind} ${metadata.namespace}/${metadata.name}`;
    return [...new Map(made.map((each) => [idOf(each), each])).values()];
  });

test("the workflow graphs and refusals of a file are the service's", async () => {
  await fc.assert(
    fc.asyncProperty(objects, async (drawn) => {
      const clock = new ManualClock();
      const store = createMemoryStore({ clock });
      const refused: unknown[] = [];
      const told = (object: KubernetesObject, why: object): void =>
        void refused.push({ kind: object.kind, name: object.metadata.name, ...why });
      const watch = new StoreClusterWatch({
        store,
        clock,
        random: seededRandom(1),
        logger: new MemoryLogger(),
        onRefusedDeclarations: told,
      });
      await fill(store, drawn);
      await watch.start();
      await clock.advance(10);
      const tables = new Tables(
        { windowMs: 30_000, paneMs: 10_000, panes: 3, fastPanes: 1 },
        { maxLinks: 1, maxChannels: 1, maxPods: 1 },
      );
      const live = buildWorkflows(tables, watch.current(), { version: 0, nowMs: 0 }, "full");
      await watch.stop();
      // Uses the API server's creation times, which decide the order of declarations.
      const kinds = [...new Set(drawn.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`))];
      const lists = kinds.map((each) =>
        store.list({ apiVersion: each.split(" ")[0]!, kind: each.split(" ")[1]! }),
      );
      const offline = new OfflineCluster((await Promise.all(lists)).flatMap(({ items }) => items));
      expect(offline.workflows([])).toEqual(live);
      const { refused: left } = offline;
      const textOf = (all: readonly unknown[]): string[] => all.map((each) => JSON.stringify(each)).sort();
      expect(
        textOf(left.map(({ object: { kind, metadata }, ...why }) => ({ kind, name: metadata.name, ...why }))),
      ).toEqual(textOf(refused));
    }),
    { numRuns: 60 },
  );
});

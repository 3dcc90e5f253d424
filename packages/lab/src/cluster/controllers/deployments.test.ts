import { createInformer, KINDS, TEMPLATE_HASH_LABEL, workloadOf } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { seededRandom, systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { copyObjects } from "../manifest/check.ts";
import { threeServices } from "../testing/builders.ts";
import { DeploymentController } from "./deployments.ts";
import { deletionOrder } from "./replica-sets.ts";

async function setUp(): Promise<ClusterStore> {
  const store = createMemoryStore({ clock: systemClock });
  const shared = { store, clock: systemClock, random: seededRandom(3), logger: new MemoryLogger() };
  for (const object of copyObjects(threeServices())) await store.create(object);
  const informers = [KINDS.deployment, KINDS.replicaSet, KINDS.pod].map((kind) =>
    createInformer({ ...shared, kind }),
  );
  const controller = new DeploymentController({ ...shared, informers });
  onTestFinished(async () => {
    await Promise.all(informers.map((informer) => informer.stop()));
    await controller.stop();
  });
  controller.start();
  await podsOf(store, "c", 1);
  return store;
}

function podsOf(store: ClusterStore, workload: string, count: number): Promise<KubernetesObject[]> {
  return vi.waitFor(async () => {
    const pods = (await store.list(KINDS.pod)).items.filter((pod) => workloadOf(pod).name === workload);
    expect(pods).toHaveLength(count);
    return pods;
  });
}

const ref = (
  kind: typeof KINDS.pod | typeof KINDS.deployment,
  name: string,
): { apiVersion: string; kind: string; namespace: string; name: string } => ({
  ...kind,
  namespace: "default",
  name,
});

describe("the deployment controller", () => {
  it("makes pods with Kubernetes' names, labels, annotations and owners", async () => {
    const store = await setUp();
    const [pod] = await podsOf(store, "b", 1);
    expect(pod!.metadata.name).toMatch(/^b-[b-z2-9]{6,10}-[b-z2-9]{5}$/);
    expect(pod!.metadata.labels).toMatchObject({ app: "b", "pod-template-hash": expect.any(String) });
    expect(pod!.metadata.annotations).toMatchObject({ "lab.isochrone.dev/calls": "c" });
    const owner = pod!.metadata.ownerReferences![0]!;
    expect(owner).toMatchObject({ kind: "ReplicaSet", controller: true });
    const replicaSet = await store.get({ ...KINDS.replicaSet, namespace: "default", name: owner.name });
    expect(replicaSet!.metadata.uid).toBe(owner.uid);
    expect(replicaSet!.metadata.ownerReferences![0]).toMatchObject({ kind: "Deployment", name: "b" });
  });

  it("replaces a deleted pod by one of another name", async () => {
    const store = await setUp();
    const [old] = await podsOf(store, "c", 1);
    await store.delete(ref(KINDS.pod, old!.metadata.name));
    await vi.waitFor(async () =>
      expect((await podsOf(store, "c", 1))[0]!.metadata.name).not.toBe(old!.metadata.name),
    );
  });

  it("replaces a failed pod", async () => {
    const store = await setUp();
    const [old] = await podsOf(store, "c", 1);
    await store.patch(
      ref(KINDS.pod, old!.metadata.name),
      { status: { phase: "Failed" } },
      { subresource: "status" },
    );
    await vi.waitFor(async () =>
      expect((await podsOf(store, "c", 1))[0]!.metadata.name).not.toBe(old!.metadata.name),
    );
  });

  it("scales up and down to exactly the number asked for", async () => {
    const store = await setUp();
    await store.patch(ref(KINDS.deployment, "c"), { spec: { replicas: 5 } });
    const five = (await podsOf(store, "c", 5)).map(({ metadata }) => metadata.uid);
    await store.patch(ref(KINDS.deployment, "c"), { spec: { replicas: 2 } });
    for (const { metadata } of await podsOf(store, "c", 2)) expect(five).toContain(metadata.uid);
  });

  const changed = { spec: { template: { metadata: { labels: { version: "v2" } } } } };
  const versions = async (store: ClusterStore): Promise<string[]> => {
    const pods = (await store.list(KINDS.pod)).items.filter((pod) => workloadOf(pod).name === "c");
    const staying = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    return staying.map(({ metadata }) => metadata.labels!["version"]!).sort();
  };

  it("rolls a template out: a new pod is ready before an old one goes", async () => {
    const store = await setUp();
    await makeReady((await podsOf(store, "c", 1))[0]!, store);
    await store.patch(ref(KINDS.deployment, "c"), changed);
    const two = await podsOf(store, "c", 2);
    await vi.waitFor(async () => expect(await versions(store)).toEqual(["v1", "v2"]));
    await makeReady(
      two.find(({ metadata }) => metadata.labels!["version"] === "v2")!,
      store,
    );
    await vi.waitFor(async () => expect(await versions(store)).toEqual(["v2"]));
  });

  it("recreates: no new pod is made before the old ones have gone", async () => {
    const store = await setUp();
    await store.patch(ref(KINDS.deployment, "c"), { spec: { strategy: { type: "Recreate" } } });
    await store.patch(ref(KINDS.deployment, "c"), changed);
    await vi.waitFor(async () => expect(await versions(store)).toEqual(["v2"]));
  });

  it("lets a pod go whose label has gone, makes another, and gets the first one back with its label", async () => {
    const store = await setUp();
    const [old] = await podsOf(store, "c", 1);
    const { name, labels } = old!.metadata;
    const owners = async (): Promise<unknown> =>
      (await store.get(ref(KINDS.pod, name)))?.metadata.ownerReferences ?? [];
    await store.patch(ref(KINDS.pod, name), { metadata: { labels: { [TEMPLATE_HASH_LABEL]: null } } });
    await podsOf(store, "c", 1);
    await vi.waitFor(async () => expect(await owners()).toEqual([]));
    await makeReady(old!, store);
    await store.patch(ref(KINDS.pod, name), { metadata: { labels: labels! } });
    await vi.waitFor(async () => {
      expect(await podsOf(store, "c", 1)).toMatchObject([{ metadata: { name } }]);
      expect(await owners()).toMatchObject([{ kind: "ReplicaSet", controller: true }]);
    });
  });
});

describe("a ReplicaSet with too many pods", () => {
  const pod = (
    name: string,
    of: Partial<Record<"node" | "cost" | "since", string>> & { ready?: boolean },
  ) => ({
    ...KINDS.pod,
    metadata: {
      name,
      creationTimestamp: "2026-01-01T00:00:00Z",
      annotations: of.cost === undefined ? {} : { "controller.kubernetes.io/pod-deletion-cost": of.cost },
    },
    spec: of.node === undefined ? {} : { nodeName: of.node },
    status: {
      phase: "Running",
      conditions: [
        { type: "Ready", status: of.ready === false ? "False" : "True", lastTransitionTime: of.since },
      ],
    },
  });
  const EARLY = "2026-01-01T00:01:00Z";
  const LATE = "2026-01-01T01:00:00Z";

  it("deletes them in Kubernetes' order", () => {
    const ordered = [
      pod("unscheduled", { ready: false }),
      pod("unready", { node: "n1", ready: false, since: EARLY }),
      pod("cheap", { node: "n1", cost: "-100", since: EARLY }),
      pod("crowded", { node: "n2", since: EARLY }),
      pod("young", { node: "n3", since: LATE }),
      pod("old", { node: "n4", since: EARLY }),
      pod("dear", { node: "n5", cost: "5", since: LATE }),
    ];
    const crowd = pod("last", { node: "n2", cost: "9", since: EARLY });
    expect(deletionOrder([crowd, ...ordered.toReversed()]).map(({ metadata }) => metadata.name)).toEqual([
      ...ordered.map(({ metadata }) => metadata.name),
      "last",
    ]);
  });
});

async function makeReady({ metadata: { name } }: KubernetesObject, store: ClusterStore): Promise<void> {
  const conditions = [{ type: "Ready", status: "True" }];
  await store.bind({ namespace: "default", name }, "n1");
  await store.patch(
    ref(KINDS.pod, name),
    { status: { phase: "Running", conditions } },
    { subresource: "status" },
  );
}

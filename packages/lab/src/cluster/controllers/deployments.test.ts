import { createInformer, KINDS, workloadOf } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { seededRandom, systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { copyObjects } from "../manifest/check.ts";
import { threeServices } from "../testing/builders.ts";
import { DeploymentController } from "./deployments.ts";

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

/** The workload's pods, when there are that many. */
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

  it("moves to a new ReplicaSet when the template changes", async () => {
    const store = await setUp();
    const [old] = await podsOf(store, "c", 1);
    await store.patch(ref(KINDS.deployment, "c"), {
      spec: { template: { metadata: { labels: { version: "v2" } } } },
    });
    await vi.waitFor(async () => {
      const [pod] = await podsOf(store, "c", 1);
      expect(pod!.metadata.labels!["version"]).toBe("v2");
      expect(pod!.metadata.ownerReferences![0]!.name).not.toBe(old!.metadata.ownerReferences![0]!.name);
    });
  });
});

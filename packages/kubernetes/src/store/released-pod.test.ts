import { ManualClock } from "@isochrone/runtime/testing";
import { describe, expect, test } from "vitest";
import { createMemoryStore } from "../adapters/memory/memory.ts";
import { KINDS } from "../kinds.ts";
import type { ClusterStore, KubernetesObject } from "./port.ts";
import { MOVING_ANNOTATION, readRelease, releasePatch, restorePatch } from "./released-pod.ts";
import { workloadOf } from "./workloads.ts";

const NOW = Date.parse("2026-01-01T00:00:00Z");
const MOVE = { to: "n2", before: 1, deadlineMs: NOW + 60_000 };
const REF = { ...KINDS.pod, namespace: "shop", name: "web-1-a" };
const FRIEND = { apiVersion: "example.com/v1", kind: "Friend", name: "f", uid: "f" };

async function clusterOf(annotations?: Record<string, string>): Promise<{
  readonly store: ClusterStore;
  readonly pod: KubernetesObject;
  readonly replicaSet: KubernetesObject;
}> {
  const store = createMemoryStore({ clock: new ManualClock(NOW) });
  const shop = { namespace: "shop" };
  const { metadata } = await store.create({ ...KINDS.deployment, metadata: { ...shop, name: "web" } });
  const above = { ...KINDS.deployment, name: "web", uid: metadata.uid!, controller: true };
  const replicaSet = await store.create({
    ...KINDS.replicaSet,
    metadata: { ...shop, name: "web-1", ownerReferences: [above] },
    spec: { replicas: 2 },
  });
  const owner = { ...KINDS.replicaSet, name: "web-1", uid: replicaSet.metadata.uid!, controller: true };
  const pod = await store.create({
    ...KINDS.pod,
    metadata: {
      ...shop,
      name: "web-1-a",
      labels: { app: "web", "pod-template-hash": "1" },
      ownerReferences: [owner, FRIEND],
      ...(annotations === undefined ? {} : { annotations }),
    },
  });
  return { store, pod, replicaSet };
}

describe("a released pod", () => {
  test.each([undefined, { "example.com/a": "b" }])(
    "is of its Deployment, and afterwards as it was: annotations %o",
    async (annotations) => {
      const { store, pod, replicaSet } = await clusterOf(annotations);
      const released = await store.jsonPatch(REF, releasePatch(pod, replicaSet, MOVE)!);
      expect(released.metadata.labels).toEqual({ app: "web" });
      expect(released.metadata.ownerReferences).toMatchObject([
        { kind: "Deployment", controller: true },
        FRIEND,
      ]);
      expect(workloadOf(released)).toEqual(workloadOf(pod));
      const release = readRelease(released);
      expect(release).toEqual({
        replicaSet: { name: "web-1", uid: replicaSet.metadata.uid },
        hash: "1",
        replicas: 2,
        ...MOVE,
      });
      const restored = await store.jsonPatch(REF, restorePatch(released, release!));
      expect(restored.metadata.labels).toEqual(pod.metadata.labels);
      expect(restored.metadata.ownerReferences).toEqual(pod.metadata.ownerReferences);
      expect(restored.metadata.annotations ?? {}).toEqual(annotations ?? {});
    },
  );

  test("goes with its Deployment", async () => {
    const { store, pod, replicaSet } = await clusterOf();
    const { ownerReferences: [owner] = [] } = pod.metadata;
    const alone = await store.patch(REF, { metadata: { ownerReferences: [owner] } });
    await store.jsonPatch(REF, releasePatch(alone, replicaSet, MOVE)!);
    await store.delete({ ...KINDS.deployment, namespace: "shop", name: "web" });
    const left = await store.get(REF);
    expect(left === null || left.metadata.deletionTimestamp !== undefined).toBe(true);
  });

  test("is the pod that was read, or nothing happens", async () => {
    const { store, pod, replicaSet } = await clusterOf();
    await store.patch(REF, { metadata: { annotations: { "example.com/a": "c" } } });
    await expect(store.jsonPatch(REF, releasePatch(pod, replicaSet, MOVE)!)).rejects.toMatchObject({
      code: "conflict",
    });
  });

  test("is none without a Deployment, or without the label", async () => {
    const { pod, replicaSet } = await clusterOf();
    const bare = { ...replicaSet, metadata: { ...replicaSet.metadata, ownerReferences: [] } };
    expect(releasePatch(pod, bare, MOVE)).toBeNull();
    expect(releasePatch({ ...pod, metadata: { ...pod.metadata, labels: {} } }, replicaSet, MOVE)).toBeNull();
  });

  test.each(["", "{", "[]", "null", '{"hash":1}', '{"replicaSet":{"name":"a"},"hash":"1","to":"n"}'])(
    "isn't one whose annotation is %s",
    (text) => {
      const metadata = { name: "a", annotations: { [MOVING_ANNOTATION]: text } };
      expect(readRelease({ ...KINDS.pod, metadata })).toBeNull();
    },
  );
});

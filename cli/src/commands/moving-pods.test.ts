import { KINDS, moveOwnerOf, readRelease, releasePatch } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { ManualClock } from "@isochrone/runtime/testing";
import { describe, expect, test } from "vitest";
import { giveBackMovingPods } from "./moving-pods.ts";

const NOW = Date.parse("2026-01-01T00:00:00Z");
const OWNER = { namespace: "shop", name: "web-1" };

async function clusterOf(): Promise<ClusterStore> {
  const store = createMemoryStore({ clock: new ManualClock(NOW) });
  const deployment = await store.create({ ...KINDS.deployment, metadata: { ...OWNER, name: "web" } });
  const above = { ...KINDS.deployment, name: "web", uid: deployment.metadata.uid!, controller: true };
  const metadata = { ...OWNER, ownerReferences: [above] };
  const replicaSet = await store.create({ ...KINDS.replicaSet, metadata, spec: { replicas: 3 } });
  const owner = { ...KINDS.replicaSet, name: "web-1", uid: replicaSet.metadata.uid!, controller: true };
  for (const [name, deadlineMs] of [
    ["stays", null],
    ["moves", NOW + 60_000],
    ["late", NOW - 60_000],
  ] as const) {
    const labels = { app: "web", "pod-template-hash": "1" };
    const pod = await store.create({
      ...KINDS.pod,
      metadata: { namespace: "shop", name, labels, ownerReferences: [owner] },
    });
    if (deadlineMs === null) continue;
    const patch = releasePatch(pod, replicaSet, { to: "n2", before: 0, deadlineMs })!;
    await store.jsonPatch({ ...KINDS.pod, namespace: "shop", name }, patch);
  }
  return store;
}

const released = async (store: ClusterStore): Promise<string[]> =>
  (await store.list(KINDS.pod)).items
    .filter((pod) => readRelease(pod) !== null)
    .map(({ metadata }) => metadata.name);

describe("moving pods", () => {
  test.each([
    [{ all: true, dryRun: false }, 2, []],
    [{ all: false, dryRun: false }, 1, ["moves"]],
    [{ all: true, dryRun: true }, 2, ["late", "moves"]],
  ] as const)("are given back: %o", async (options, count, left) => {
    const store = await clusterOf();
    const { lines, failed } = await giveBackMovingPods(store, { ...options, nowMs: NOW });
    expect(lines).toHaveLength(count);
    expect(failed).toBe(0);
    expect(await released(store)).toEqual(left);
    const pods = (await store.list(KINDS.pod)).items.filter((pod) => readRelease(pod) === null);
    for (const pod of pods) {
      expect(moveOwnerOf(pod)).toMatchObject({ kind: "ReplicaSet", name: "web-1" });
      expect(pod.metadata.labels).toEqual({ app: "web", "pod-template-hash": "1" });
    }
  });

  test("one that the API server refuses is named with the reason, and the others are given back", async () => {
    const store = await clusterOf();
    const refusing: ClusterStore = Object.assign(Object.create(store) as ClusterStore, {
      list: store.list.bind(store),
      jsonPatch: (...args: Parameters<ClusterStore["jsonPatch"]>): Promise<KubernetesObject> =>
        args[0].name === "late" ? Promise.reject(new Error("no")) : store.jsonPatch(...args),
    });
    const { lines, failed } = await giveBackMovingPods(refusing, { all: true, dryRun: false, nowMs: NOW });
    expect(failed).toBe(1);
    expect(lines).toEqual([
      "Pod shop/late: can't be given back: no",
      "Pod shop/moves: given back to ReplicaSet web-1",
    ]);
    expect(await released(store)).toEqual(["late"]);
  });
});

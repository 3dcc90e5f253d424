// A manual move on a memory store. The test plays the controller and the scheduler.
import { KINDS, MOVE_TO_ANNOTATION, readMoveRecords, readRelease, releasePatch } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject, ObjectRef } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { describe, expect, test, vi } from "vitest";
import { Evictor } from "./evictor.ts";
import { moveByHand, withdrawByHand } from "./hand-move.ts";
import type { HandOutcome, MovingStore } from "./hand-move.ts";

const REF = { ...KINDS.statefulSet, namespace: "shop", name: "db" };
const MOVE = { namespace: "shop", pod: "db-0", from: "n1", to: "n2" };

async function shop(): Promise<{ store: ClusterStore; place: (node: string) => Promise<void> }> {
  const store = createMemoryStore({ clock: systemClock });
  const { metadata } = await store.create({ ...REF, metadata: { namespace: "shop", name: "db" } });
  const place = async (nodeName: string): Promise<void> => {
    const owner = { ...KINDS.statefulSet, name: "db", uid: metadata.uid!, controller: true };
    await store.create({
      ...KINDS.pod,
      metadata: { namespace: "shop", name: "db-0", ownerReferences: [owner] },
      spec: { nodeName, terminationGracePeriodSeconds: 0, containers: [] },
      status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
    });
  };
  await place("n1");
  return { store, place };
}

async function moved(node: string): Promise<{ outcome: HandOutcome; store: ClusterStore }> {
  const { store, place } = await shop();
  const signal = new AbortController().signal;
  const deps = { store, clock: systemClock, logger: new MemoryLogger(), signal };
  const ending = moveByHand(MOVE, { ...deps, withinMs: 60_000, coolDownMs: 1_000 });
  const ref = { ...KINDS.pod, namespace: "shop", name: "db-0" };
  await vi.waitFor(async () => expect(await store.get(ref)).toBeNull(), { timeout: 60_000 });
  expect(readMoveRecords((await store.get(REF))!, systemClock.now())).toMatchObject([
    { from: "n1", to: "n2" },
  ]);
  await place(node);
  return { outcome: await ending, store };
}

test("is over when the replacement is ready on its target, and leaves no record", async () => {
  const { outcome, store } = await moved("n2");
  expect(outcome).toEqual({ outcome: "on_target", replacement: "db-0" });
  expect(readMoveRecords((await store.get(REF))!, systemClock.now())).toEqual([]);
});

test("has failed when the replacement runs elsewhere", async () => {
  const { outcome } = await moved("n3");
  expect(outcome).toEqual({ outcome: "elsewhere", detail: "its replacement db-0 runs on n3" });
});

test.each([
  ["a pod that isn't where it was", { ...MOVE, from: "n9" }, "it isn't on n9"],
  ["a pod that has gone", { ...MOVE, pod: "db-7" }, "it has gone"],
])("refuses %s, and leaves no mark", async (_, move, detail) => {
  const { store } = await shop();
  const signal = new AbortController().signal;
  const deps = { store, clock: systemClock, logger: new MemoryLogger(), signal };
  const outcome = await moveByHand(move, { ...deps, withinMs: 60_000, coolDownMs: 1_000 });
  expect(outcome).toEqual({ outcome: "refused", detail });
  const pod = await store.get({ ...KINDS.pod, namespace: "shop", name: "db-0" });
  expect(pod!.metadata.annotations ?? {}).not.toHaveProperty([MOVE_TO_ANNOTATION]);
});

describe("a move that was interrupted is withdrawn", () => {
  const withdrawn = (store: ClusterStore, pod: KubernetesObject): Promise<boolean> =>
    withdrawByHand(pod, { store, clock: systemClock, logger: new MemoryLogger(), coolDownMs: 1_000 });

  const endless = (): Promise<never> => new Promise(() => undefined);

  test("before the pod was evicted: its mark and the record end, and it stays", async () => {
    const { store } = await shop();
    const ref = { ...KINDS.pod, namespace: "shop", name: "db-0" };
    const pod = await store.patch(ref, { metadata: { annotations: { [MOVE_TO_ANNOTATION]: "n2" } } });
    const interrupted: MovingStore = {
      get: store.get.bind(store),
      jsonPatch: store.jsonPatch.bind(store),
      list: endless,
      patch: endless,
      evict: endless,
    };
    const begin = { ...MOVE, uid: pod.metadata.uid!, nowMs: systemClock.now(), release: null };
    const times = { deadlineMs: systemClock.now() + 60_000, coolDownMs: 1_000 };
    void new Evictor(interrupted).begin({ ...begin, ...times });
    await vi.waitFor(async () =>
      expect(readMoveRecords((await store.get(REF))!, systemClock.now())).toHaveLength(1),
    );
    expect(await withdrawn(store, pod)).toBe(true);
    const left = (await store.get(ref))!;
    expect(left.metadata.uid).toBe(pod.metadata.uid);
    expect(left.metadata.annotations ?? {}).not.toHaveProperty([MOVE_TO_ANNOTATION]);
    expect(readMoveRecords((await store.get(REF))!, systemClock.now())).toEqual([]);
    expect(await withdrawn(store, pod)).toBe(true);
  });

  test("after the pod was released: its ReplicaSet gets it back, and the newest pod is to go", async () => {
    const store = createMemoryStore({ clock: systemClock });
    const deployment = { ...KINDS.deployment, name: "web", uid: "d", controller: true };
    const replicaSet = await store.create({
      ...KINDS.replicaSet,
      metadata: { namespace: "shop", name: "web-1", ownerReferences: [deployment] },
      spec: { replicas: 1 },
    });
    const owner = { ...KINDS.replicaSet, name: "web-1", uid: replicaSet.metadata.uid!, controller: true };
    const podOf = (name: string, nodeName: string): Promise<KubernetesObject> =>
      store.create({
        ...KINDS.pod,
        metadata: {
          namespace: "shop",
          name,
          labels: { "pod-template-hash": "1" },
          ownerReferences: [owner],
        },
        spec: { nodeName, containers: [] },
        status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
      });
    const pod = await podOf("web-1-a", "n1");
    const ref: ObjectRef = { ...KINDS.pod, namespace: "shop", name: "web-1-a" };
    const deadlineMs = systemClock.now() + 60_000;
    await store.jsonPatch(ref, releasePatch(pod, replicaSet, { to: "n2", before: 0, deadlineMs })!);
    await podOf("web-1-b", "n2");
    expect(await withdrawn(store, pod)).toBe(true);
    const back = (await store.get(ref))!;
    expect(readRelease(back)).toBeNull();
    expect(back.metadata.ownerReferences).toMatchObject([{ name: "web-1" }]);
    const surplus = (await store.get({ ...ref, name: "web-1-b" }))!;
    expect(surplus.metadata.annotations).toMatchObject({
      "controller.kubernetes.io/pod-deletion-cost": "-100",
    });
  });
});

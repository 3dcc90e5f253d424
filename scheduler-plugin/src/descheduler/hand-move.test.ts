// A move by hand on a memory store. The test is the controller, and the scheduler that places the
// replacement.
import { KINDS, MOVE_TO_ANNOTATION, readMoveRecords } from "@isochrone/kubernetes";
import type { ClusterStore } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { expect, test, vi } from "vitest";
import { moveByHand } from "./hand-move.ts";
import type { HandOutcome } from "./hand-move.ts";

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
  // The target is known before the pod goes.
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

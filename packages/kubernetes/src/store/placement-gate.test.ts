import { ManualClock } from "@isochrone/runtime/testing";
import { describe, expect, test } from "vitest";
import { createMemoryStore } from "../adapters/memory/memory.ts";
import { gatesOf, hasOurGate, isOnlyOurGate, jsonPatchOpeningGate, openGate } from "./placement-gate.ts";
import { PLACEMENT_GATE as OURS, STREAM_GATE } from "./placement-gate.ts";
import { KINDS } from "../kinds.ts";
import type { ClusterStore, KubernetesObject } from "./port.ts";

const pod = (...gates: string[]): KubernetesObject => ({
  ...KINDS.pod,
  metadata: { name: "p", namespace: "shop" },
  spec: { containers: [], schedulingGates: gates.map((name) => ({ name })) },
});
const REF = { ...KINDS.pod, namespace: "shop", name: "p" };

describe("gates of a pod", () => {
  test.each([
    [[], false, false],
    [[OURS], true, true],
    [["a.dev/x", OURS], true, false],
    [["a.dev/x"], false, false],
  ])("%j", (gates, has, only) => {
    expect(gatesOf(pod(...gates))).toEqual(gates);
    expect(hasOurGate(pod(...gates))).toBe(has);
    expect(isOnlyOurGate(pod(...gates))).toBe(only);
  });

  test("are none where the object is odd", () => {
    for (const schedulingGates of [null, "x", { name: OURS }, [null, 5, { name: 5 }]])
      expect(hasOurGate({ ...pod(), spec: { schedulingGates } })).toBe(false);
  });
});

describe("opening the gate", () => {
  const storeWith = async (...gates: string[]) => {
    const store = createMemoryStore({ clock: new ManualClock() });
    return { store, made: await store.create(pod(...gates)) };
  };
  const gatesNow = async (store: ClusterStore): Promise<string[]> => gatesOf((await store.get(REF))!);

  test("takes ours away and leaves those of others", async () => {
    const { store, made } = await storeWith("a.dev/x", OURS, "b.dev/y");
    expect(await openGate(store, made)).toBe("opened");
    expect(await gatesNow(store)).toEqual(["a.dev/x", "b.dev/y"]);
  });

  test("takes several away at once", async () => {
    const { store, made } = await storeWith("a.dev/x", STREAM_GATE, "b.dev/y", OURS);
    await store.jsonPatch(REF, jsonPatchOpeningGate(made, [OURS, STREAM_GATE])!);
    expect(await gatesNow(store)).toEqual(["a.dev/x", "b.dev/y"]);
    expect(jsonPatchOpeningGate((await store.get(REF))!, [OURS, STREAM_GATE])).toBeNull();
  });

  test("needs no version: the pod may have changed otherwise", async () => {
    const { store, made } = await storeWith(OURS);
    await store.patch(REF, { metadata: { labels: { a: "b" } } });
    await store.jsonPatch(REF, jsonPatchOpeningGate(made)!);
    expect(await gatesNow(store)).toEqual([]);
  });

  test.each([
    ["before ours", ["a.dev/x", OURS], [OURS]],
    ["before ours, which is not the last", ["a.dev/x", OURS, "b.dev/y"], [OURS, "b.dev/y"]],
  ])("finds ours again when another gate went, %s", async (_, gates, left) => {
    const { store, made } = await storeWith(...gates);
    await store.jsonPatch(REF, [{ op: "remove", path: "/spec/schedulingGates/0" }]);
    expect(await gatesNow(store)).toEqual(left);
    expect(await openGate(store, made)).toBe("opened");
    expect(await gatesNow(store)).toEqual(left.filter((gate) => gate !== OURS));
  });

  test("says that there is none, or no pod any more", async () => {
    const { store, made } = await storeWith(OURS);
    await openGate(store, made);
    expect(await openGate(store, made)).toBe("absent");
    await store.delete(REF, { gracePeriodSeconds: 0 });
    expect(await openGate(store, made)).toBe("gone");
  });

  test("leaves a pod alone that came by the same name", async () => {
    const { store, made } = await storeWith(OURS);
    await store.delete(REF, { gracePeriodSeconds: 0 });
    await store.create(pod(OURS));
    expect(await openGate(store, made)).toBe("gone");
    expect(await gatesNow(store)).toEqual([OURS]);
  });

  test("is nothing to do for a pod without it", () => {
    expect(jsonPatchOpeningGate(pod("a.dev/x"))).toBeNull();
  });
});

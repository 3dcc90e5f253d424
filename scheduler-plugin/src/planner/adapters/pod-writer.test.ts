import { KINDS, PLACEMENT_GATE, StoreError } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { PLANNED_NODE_ANNOTATION } from "@isochrone/topology";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { ManualClock } from "@isochrone/runtime/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { patchedStore } from "../../testing/appgroup-rig.ts";
import { PodWriter } from "./pod-writer.ts";

const REF = { ...KINDS.pod, namespace: "shop", name: "a" };

describe("the pod writer", () => {
  let store: ClusterStore;

  beforeEach(() => {
    store = createMemoryStore({ clock: new ManualClock() });
  });

  const create = (gates = [PLACEMENT_GATE], metadata = {}): Promise<KubernetesObject> =>
    store.create({
      ...KINDS.pod,
      metadata: { namespace: "shop", name: "a", ...metadata },
      spec: {
        schedulingGates: gates.map((name) => ({ name })),
        containers: [{ name: "main", image: "none" }],
      },
    });
  const read = async (): Promise<KubernetesObject> => (await store.get(REF))!;
  const writer = (landing: "nomination" | "preferred-affinity" = "nomination", through = store): PodWriter =>
    new PodWriter({ store: through, landing });
  const nominatedNow = async (): Promise<unknown> => (await read()).status?.["nominatedNodeName"];
  const gatesNow = async (): Promise<unknown> => (await read()).spec?.["schedulingGates"];

  test("nominates, opens the gate and says on the pod what was planned", async () => {
    const pod = await create();
    expect(await writer().land(pod, "n1")).toBe("released");
    expect(await nominatedNow()).toBe("n1");
    expect(await gatesNow()).toEqual([]);
    expect((await read()).metadata.annotations).toEqual({ [PLANNED_NODE_ANNOTATION]: "n1" });
  });

  test("keeps the annotations that the pod has", async () => {
    const pod = await create([PLACEMENT_GATE], { annotations: { mine: "1" } });
    await writer().land(pod, "n1");
    expect((await read()).metadata.annotations).toEqual({ mine: "1", [PLANNED_NODE_ANNOTATION]: "n1" });
  });

  test("goes by the pod as it is when it was read too early", async () => {
    const pod = await create();
    await store.patch(REF, { metadata: { labels: { changed: "yes" } } });
    expect(await writer().land(pod, "n1")).toBe("released");
    expect(await nominatedNow()).toBe("n1");
  });

  test("keeps another's nomination, even one of this moment, and opens the gate", async () => {
    const pod = await create();
    await store.patch(REF, { status: { nominatedNodeName: "theirs" } }, { subresource: "status" });
    expect(await writer().land(pod, "n1")).toBe("nominated_by_other");
    expect(await nominatedNow()).toBe("theirs");
    expect(await gatesNow()).toEqual([]);
  });

  test("changes a nomination of its own", async () => {
    const pod = await create();
    let isDown = true;
    const failing = new Proxy(store, {
      get: (target, name) =>
        name === "jsonPatch" && isDown
          ? () => Promise.reject(new StoreError("unavailable", "away"))
          : (Reflect.get(target, name, target) as () => unknown).bind(target),
    });
    const own = writer("nomination", failing);
    await expect(own.land(pod, "n1")).rejects.toThrow("away");
    expect(await nominatedNow()).toBe("n1");
    isDown = false;
    expect(await own.land(await read(), "n2")).toBe("released");
    expect(await nominatedNow()).toBe("n2");
  });

  test("takes its own nomination back before it releases a pod without a plan", async () => {
    const pod = await create();
    const down = new Proxy(store, {
      get: (target, name) =>
        name === "jsonPatch"
          ? () => Promise.reject(new StoreError("timeout", "slow"))
          : (Reflect.get(target, name, target) as () => unknown).bind(target),
    });
    const own = writer("nomination", down);
    await expect(own.land(pod, "n1")).rejects.toThrow("slow");
    await expect(own.release(pod)).rejects.toThrow("slow");
    expect(await nominatedNow()).toBeUndefined();
  });

  test("leaves a pod that waits for somebody else too", async () => {
    const pod = await create(["example.com/quota", PLACEMENT_GATE]);
    expect(await writer().land(pod, "n1")).toBe("held");
    expect(await gatesNow()).toHaveLength(2);
    expect(await nominatedNow()).toBeUndefined();
  });

  test("a pod that has gone, or another one by its name, is left alone", async () => {
    const pod = await create();
    await store.delete(REF, { gracePeriodSeconds: 0 });
    await create();
    expect(await writer().land(pod, "n1")).toBe("absent");
    expect(await gatesNow()).toHaveLength(1);
  });

  test("takes back what it nominated, and nothing else", async () => {
    const pod = await create();
    await writer().land(pod, "n1");
    await writer().takeBack(pod, "n2");
    expect(await nominatedNow()).toBe("n1");
    await writer().takeBack(pod, "n1");
    expect(await nominatedNow()).toBeUndefined();
  });

  test("gives up on a pod that others write all the time", async () => {
    const pod = await create();
    const busy = patchedStore(store, () => Promise.reject(new StoreError("conflict", "changed again")));
    await expect(writer("nomination", busy).land(pod, "n1")).rejects.toThrow("changed again");
  });

  test("prefers the node where nominations are ignored, with the same request", async () => {
    const pod = await create();
    expect(await writer("preferred-affinity").land(pod, "n1")).toBe("released");
    expect(await nominatedNow()).toBeUndefined();
    expect((await read()).spec?.["affinity"]).toEqual({
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          {
            weight: 100,
            preference: { matchFields: [{ key: "metadata.name", operator: "In", values: ["n1"] }] },
          },
        ],
      },
    });
  });
});

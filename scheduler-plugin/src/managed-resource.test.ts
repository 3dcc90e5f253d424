import { KINDS } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import type { ManualClock } from "@isochrone/runtime/testing";
import { describe, expect, test } from "vitest";
import { rigClock, running } from "./testing/rig.ts";
import type { Running } from "./testing/rig.ts";

const RESOURCE = "isochrone.dev/placement";
const SETTINGS = {
  managedResource: RESOURCE,
  canaryPeriodMs: 10_000,
  canaryDeadlineMs: 5_000,
  canaryRequired: 2,
};

interface Rig {
  readonly clock: ManualClock;
  readonly store: ClusterStore;
  readonly plugin: Running;
  readonly canaries: () => Promise<KubernetesObject[]>;
  readonly answer: () => Promise<Record<string, unknown>>;
}

async function rig(): Promise<Rig> {
  const clock = rigClock();
  const store = createMemoryStore({ clock });
  const plugin = await running(SETTINGS, { clock, store });
  return {
    clock,
    store,
    plugin,
    canaries: async () => (await store.list(KINDS.pod, { namespace: "isochrone-canary" })).items,
    answer: async () =>
      (await plugin.plugin.app.inject("/api/v1/managed-resource")).json<Record<string, unknown>>(),
  };
}

async function nextCanary({ clock, store, canaries }: Rig, node: string | null): Promise<KubernetesObject> {
  await expect
    .poll(async () => {
      await clock.advance(1_000);
      return (await canaries()).length;
    })
    .toBe(1);
  const [canary] = await canaries();
  if (node !== null) await store.bind({ namespace: "isochrone-canary", name: canary!.metadata.name }, node);
  await expect
    .poll(async () => {
      await clock.advance(1_000);
      return (await canaries()).length;
    })
    .toBe(0);
  return canary!;
}

describe("the guard of the managed resource", () => {
  test("lets it be injected after canaries in a row were scheduled, and no longer after one was not", async () => {
    const guard = await rig();
    expect(await guard.answer()).toMatchObject({
      resource: RESOURCE,
      injectable: false,
      lastScheduledAt: null,
    });
    const canary = await nextCanary(guard, "n1");
    expect(canary.spec?.["containers"]).toMatchObject([
      { resources: { requests: { [RESOURCE]: "1" }, limits: { [RESOURCE]: "1" } } },
    ]);
    expect(await guard.answer()).toMatchObject({
      injectable: false,
      reason: expect.stringMatching(/^1 of 2 canaries in a row/),
    });
    await nextCanary(guard, "n1");
    expect(await guard.answer()).toMatchObject({ injectable: true, reason: null, scheduledInARow: 2 });
    expect(await guard.plugin.metrics()).toMatch(/managed_resource_injectable 1/);
    await nextCanary(guard, null);
    expect(await guard.answer()).toMatchObject({
      injectable: false,
      reason: `a canary that requests ${RESOURCE} was not scheduled within 5 s: kube-scheduler said nothing`,
      scheduledInARow: 0,
    });
    expect(await guard.plugin.metrics()).toMatch(/canaries_total\{outcome="failed"\} 1/);
    await nextCanary(guard, "n1");
    expect(await guard.answer()).toMatchObject({ injectable: false });
    await nextCanary(guard, "n1");
    expect(await guard.answer()).toMatchObject({ injectable: true });
  });

  test("says kube-scheduler's own words on a canary that pends", async () => {
    const guard = await rig();
    await expect.poll(async () => (await guard.canaries()).length).toBe(1);
    const [canary] = await guard.canaries();
    const message = `0/3 nodes are available: 3 Insufficient ${RESOURCE}.`;
    await guard.store.patch(
      { ...KINDS.pod, namespace: "isochrone-canary", name: canary!.metadata.name },
      {
        status: { conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message }] },
      },
      { subresource: "status" },
    );
    await expect
      .poll(async () => {
        await guard.clock.advance(1_000);
        return (await guard.answer())["reason"];
      })
      .toContain(message);
  });

  test("clears canaries away that a replica left behind, and leaves other pods alone", async () => {
    const clock = rigClock();
    const store = createMemoryStore({ clock });
    const left = (name: string, labels: Record<string, string>): KubernetesObject => ({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { namespace: "isochrone-canary", name, labels },
      spec: { containers: [{ name: "pause" }] },
    });
    await store.create(left("left", { "isochrone.dev/canary": "managed-resource" }));
    await store.create(left("other", {}));
    await clock.advance(60_000);
    await running(SETTINGS, { clock, store });
    const names = async (): Promise<string[]> =>
      (await store.list(KINDS.pod)).items.map(({ metadata }) => metadata.name);
    await expect.poll(names).not.toContain("left");
    expect(await names()).toContain("other");
  });

  test("without a managed resource says that none is set", async () => {
    const { plugin } = await running();
    expect((await plugin.app.inject("/api/v1/managed-resource")).json()).toMatchObject({
      resource: null,
      injectable: false,
    });
  });
});

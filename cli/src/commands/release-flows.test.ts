import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { ManualClock } from "@isochrone/runtime/testing";
import { expect, test } from "vitest";
import { releaseFlows } from "./release-flows.ts";

const REF = { namespace: "isochrone", name: "isochrone-network-manager" };
const KEY = { ...KINDS.daemonSet, ...REF };

function daemonSet(env: readonly object[], container = "network-manager"): KubernetesObject {
  return {
    ...KINDS.daemonSet,
    metadata: { ...REF },
    spec: {
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 1 } },
      template: { spec: { containers: [{ name: "sidecar" }, { name: container, env }] } },
    },
  };
}

/** @param ready number of ready managers out of three, per poll */
async function build(object: KubernetesObject, ready: readonly number[]) {
  const clock = new ManualClock();
  const store = createMemoryStore({ clock });
  await store.create(object);
  const turns = [...ready];
  const report = async (): Promise<void> => {
    const found = (await store.get(KEY))!;
    const now = turns.length > 1 ? turns.shift()! : turns[0]!;
    const status = {
      desiredNumberScheduled: 3,
      updatedNumberScheduled: now,
      numberReady: now,
      observedGeneration: found.metadata.generation,
    };
    await store.patch(KEY, { status }, { subresource: "status" });
  };
  await store.patch(
    KEY,
    {
      status: { desiredNumberScheduled: 3, updatedNumberScheduled: 3, numberReady: 3, observedGeneration: 1 },
    },
    { subresource: "status" },
  );
  const released = releaseFlows(store, REF, clock);
  const done = { isIt: false };
  void released.then(() => (done.isIt = true));
  for (let second = 0; second < 260 && !done.isIt; second++) {
    await clock.advance(1_000);
    await report();
  }
  return { store, result: await released };
}

const containersOf = ({ spec }: KubernetesObject): unknown =>
  (spec as { template: { spec: { containers: unknown } } }).template.spec.containers;

test("all managers start anew in the mode observe, and are waited for", async () => {
  const other = { name: "NODE_OPTIONS", value: "--max-semi-space-size=1" };
  const { store, result } = await build(daemonSet([other]), [0, 1, 3]);
  expect(result).toEqual({ managers: 3, released: 3 });
  const changed = (await store.get(KEY))!;
  expect(containersOf(changed)).toEqual([
    { name: "sidecar" },
    { name: "network-manager", env: [other, { name: "ISOCHRONE_FLOWS_MODE", value: "observe" }] },
  ]);
  expect(changed.spec).toMatchObject({ updateStrategy: { rollingUpdate: { maxUnavailable: "100%" } } });
});

test("a mode that the environment sets already is replaced", async () => {
  const { store } = await build(daemonSet([{ name: "ISOCHRONE_FLOWS_MODE", value: "route" }]), [3]);
  expect(containersOf((await store.get(KEY))!)).toContainEqual({
    name: "network-manager",
    env: [{ name: "ISOCHRONE_FLOWS_MODE", value: "observe" }],
  });
});

test("a node that is down isn't waited for without end", async () => {
  const { result } = await build(daemonSet([]), [0, 2]);
  expect(result).toEqual({ managers: 3, released: 2 });
});

test("nothing is done where no manager runs, and a DaemonSet that isn't the chart's stays", async () => {
  const clock = new ManualClock();
  const store = createMemoryStore({ clock });
  expect(await releaseFlows(store, REF, clock)).toEqual({ managers: 0, released: 0 });
  await store.create(daemonSet([], "somebody-elses"));
  await expect(releaseFlows(store, REF, clock)).rejects.toThrow(
    "DaemonSet isochrone-network-manager must have a container network-manager, it has none",
  );
});

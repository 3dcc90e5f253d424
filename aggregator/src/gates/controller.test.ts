import { gatesOf, KINDS, PLACEMENT_GATE, StoreError, timestamp } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject, ReportedEvent } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createRegistry } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { describe, expect, test } from "vitest";
import { GateOpener } from "./controller.ts";

const CONFIG = { enabled: true, deadlineMs: 60_000, checkIntervalMs: 1_000, maxOpensPerSecond: 3 };

interface Rig {
  readonly opener: GateOpener;
  readonly store: ClusterStore;
  readonly clock: ManualClock;
  readonly events: string[];
  readonly leads: { now: boolean };
  readonly add: (name: string, gates?: string[]) => Promise<KubernetesObject>;
  readonly gated: () => Promise<string[]>;
  readonly metrics: () => Promise<string>;
}

function rig(fail: (name: string) => Error | null = () => null): Rig {
  const clock = new ManualClock();
  const store = createMemoryStore({ clock });
  const events: string[] = [];
  const leads = { now: true };
  const registry = createRegistry();
  const opener = new GateOpener({
    config: CONFIG,
    store: {
      jsonPatch: async (ref, ...rest) => {
        const error = fail(ref.name);
        if (error !== null) throw error;
        return store.jsonPatch(ref, ...rest);
      },
    },
    leadership: { isLeader: () => leads.now },
    events: { event: (_: unknown, { reason }: ReportedEvent) => void events.push(reason) },
    clock,
    logger: new MemoryLogger(),
    registry,
  });
  return {
    opener,
    store,
    clock,
    events,
    leads,
    add: async (name, gates = [PLACEMENT_GATE]) => {
      const object = await store.create({
        ...KINDS.pod,
        metadata: { name, namespace: "shop", creationTimestamp: timestamp(clock.now()) },
        spec: { containers: [], schedulingGates: gates.map((gate) => ({ name: gate })) },
      });
      opener.take({ type: "added", object });
      return object;
    },
    gated: async () => {
      const { items } = await store.list(KINDS.pod);
      return items.filter((pod) => gatesOf(pod).includes(PLACEMENT_GATE)).map((pod) => pod.metadata.name);
    },
    metrics: () => registry.metrics(),
  };
}

describe("the opener of late gates", () => {
  test("opens nothing before the deadline, then no more at once than it may, and tells each pod", async () => {
    const { opener, clock, add, gated, events, metrics } = rig();
    for (const name of ["a", "b", "c", "d", "e"]) await add(name);
    await clock.advance(59_000);
    await opener.check();
    expect(await gated()).toHaveLength(5);
    await clock.advance(1_000);
    await opener.check();
    expect(await gated()).toHaveLength(2);
    await opener.check();
    expect(await gated()).toEqual([]);
    expect(events).toEqual(Array(5).fill("GateOpenedLate"));
    expect(await metrics()).toMatch(/isochrone_gates_opened_total\{result="opened"\} 5/);
    expect(await metrics()).toMatch(/isochrone_gates_waiting_pods 0/);
  });

  test("leaves pods that wait for others too, and the gates of others", async () => {
    const { opener, clock, store, add, gated } = rig();
    await add("a", ["quota.dev/x", PLACEMENT_GATE]);
    await clock.advance(600_000);
    await opener.check();
    expect(await gated()).toEqual(["a"]);
    const ref = { ...KINDS.pod, namespace: "shop", name: "a" };
    const object = await store.jsonPatch(ref, [{ op: "remove", path: "/spec/schedulingGates/0" }]);
    opener.take({ type: "modified", object });
    await clock.advance(60_000);
    await opener.check();
    expect(await gated()).toEqual([]);
  });

  test("writes nothing unless it leads, and all at once when it comes to lead", async () => {
    const { opener, clock, leads, add, gated } = rig();
    leads.now = false;
    await add("a");
    await clock.advance(120_000);
    await opener.check();
    expect(await gated()).toEqual(["a"]);
    leads.now = true;
    await opener.check();
    expect(await gated()).toEqual([]);
  });

  test("goes on with the others when some can't be opened, and comes back to those", async () => {
    let isAway = true;
    const { opener, clock, add, gated, metrics } = rig((name) =>
      isAway && name !== "d" ? new StoreError("forbidden", "may not") : null,
    );
    for (const name of ["a", "b", "c"]) await add(name);
    await clock.advance(1_000);
    await add("d");
    await clock.advance(60_000);
    await opener.check();
    await opener.check();
    expect(await gated()).toEqual(["a", "b", "c"]);
    isAway = false;
    await clock.advance(2_000);
    await opener.check();
    expect(await gated()).toEqual([]);
    expect(await metrics()).toMatch(/isochrone_gates_opened_total\{result="failed"\} 3/);
  });

  test("takes gates that changed meanwhile as they come to be known", async () => {
    const { opener, clock, store, add, gated, metrics } = rig();
    await add("a", [PLACEMENT_GATE]);
    const ref = { ...KINDS.pod, namespace: "shop", name: "a" };
    await store.patch(ref, {
      spec: { schedulingGates: [{ name: "quota.dev/x" }, { name: PLACEMENT_GATE }] },
    });
    await clock.advance(60_000);
    await opener.check();
    expect(await metrics()).toMatch(/isochrone_gates_opened_total\{result="conflict"\} 1/);
    expect(await gated()).toEqual(["a"]);
  });

  test("forgets pods that are gone", async () => {
    const { opener, clock, store, add, metrics } = rig();
    await add("a");
    await store.delete({ ...KINDS.pod, namespace: "shop", name: "a" }, { gracePeriodSeconds: 0 });
    await clock.advance(60_000);
    await opener.check();
    expect(await metrics()).toMatch(/isochrone_gates_opened_total\{result="gone"\} 1/);
    expect(await metrics()).toMatch(/isochrone_gates_waiting_pods 0/);
  });
});

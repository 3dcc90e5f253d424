import { KINDS, PLANNER_LEASE, StoreError, WEBHOOK_REMOVED_AT } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { seededRandom } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { describe, expect, test } from "vitest";
import { Heartbeat } from "./heartbeat.ts";

function storeWith(store: ClusterStore, changed: Partial<ClusterStore>): ClusterStore {
  return new Proxy(store, {
    get(target, property: keyof ClusterStore) {
      const method = changed[property] ?? target[property];
      return typeof method === "function" ? (method as () => unknown).bind(target) : method;
    },
  });
}

function heartbeatOn(
  store: ClusterStore,
  clock: ManualClock,
  onFailure: (reason: string) => void = () => undefined,
): Heartbeat {
  return new Heartbeat({
    store,
    namespace: "isochrone",
    maxAgeMs: 10_000,
    checkMs: 1_000,
    clock,
    random: seededRandom(1),
    logger: new MemoryLogger(),
    onFailure,
  });
}

function rig() {
  const clock = new ManualClock();
  let lease: KubernetesObject | null | Error = null;
  const failures: string[] = [];
  const read = async <T>(result: (lease: KubernetesObject | null) => T): Promise<T> => {
    if (lease instanceof Error) throw lease;
    return result(lease);
  };
  const store = storeWith(createMemoryStore({ clock }), {
    get: (() => read((object) => object)) as ClusterStore["get"],
    list: (() =>
      read((object) => ({
        items: object === null ? [] : [object],
        resourceVersion: "1",
      }))) as ClusterStore["list"],
  });
  const heartbeat = heartbeatOn(store, clock, (reason) => void failures.push(reason));
  const say = async (
    renewTime: string | null,
    more: { holderIdentity?: string; annotations?: Record<string, string> } = {},
  ): Promise<void> => {
    const { holderIdentity = "planner", annotations = {} } = more;
    lease = {
      ...KINDS.lease,
      metadata: { namespace: "isochrone", name: PLANNER_LEASE, annotations },
      spec: { holderIdentity, renewTime },
    };
    await heartbeat.check();
  };
  const at = (ms: number): string => new Date(clock.now() + ms).toISOString();
  return { clock, heartbeat, say, at, failures, lose: (error: Error | null) => (lease = error) };
}

describe("the planner's heartbeat", () => {
  test("is young until it is as old as it may be, by our clock since we saw it renewed", async () => {
    const { clock, heartbeat, say, at } = rig();
    await say(at(0));
    await clock.advance(9_999);
    expect(heartbeat.isAlive()).toBe(true);
    await clock.advance(1);
    expect(heartbeat.isAlive()).toBe(false);
    await say(at(0));
    expect(heartbeat.isAlive()).toBe(true);
  });

  test.each([-3_600_000, 3_600_000])(
    "of a planner whose clock is %s ms off counts from its second sign on",
    async (skewMs) => {
      const { clock, heartbeat, say, at } = rig();
      await say(at(skewMs));
      expect([heartbeat.isAlive(), heartbeat.ageMs()]).toEqual([false, null]);
      await clock.advance(3_000);
      await say(at(skewMs));
      expect(heartbeat.isAlive()).toBe(true);
    },
  );

  test("that is not renewed is as old as it was, however often it is looked at", async () => {
    const { clock, heartbeat, say, at } = rig();
    const stamp = at(0);
    for (let second = 0; second < 11; second++) {
      await say(stamp);
      await clock.advance(1_000);
    }
    expect(heartbeat.isAlive()).toBe(false);
  });

  test("ends at once when the planner says goodbye", async () => {
    const { heartbeat, say, at } = rig();
    await say(at(0));
    await say(at(1), { holderIdentity: "" });
    expect(heartbeat.isAlive()).toBe(false);
    await say(at(2));
    expect(heartbeat.isAlive()).toBe(true);
    await say(null);
    expect(heartbeat.isAlive()).toBe(false);
  });

  test("grows old while the Lease can't be read", async () => {
    const { clock, heartbeat, say, at, lose, failures } = rig();
    await say(at(0));
    lose(new StoreError("unavailable", "away"));
    await heartbeat.start();
    await clock.advance(9_000);
    expect(heartbeat.isAlive()).toBe(true);
    await clock.advance(1_000);
    expect(heartbeat.isAlive()).toBe(false);
    expect(new Set(failures)).toEqual(new Set(["unavailable"]));
    await heartbeat.stop();
  });

  test("without a Lease there is none", async () => {
    const { heartbeat } = rig();
    await heartbeat.check();
    expect([heartbeat.isAlive(), heartbeat.isRemoved(), heartbeat.ageMs()]).toEqual([false, false, null]);
  });

  test("means nothing for ten minutes after the webhook was taken away", async () => {
    const { clock, heartbeat, say, at } = rig();
    const annotations = { [WEBHOOK_REMOVED_AT]: at(0) };
    await say(at(0), { annotations });
    expect([heartbeat.isAlive(), heartbeat.isRemoved()]).toEqual([false, true]);
    await clock.advance(600_000);
    await say(at(0), { annotations });
    expect([heartbeat.isAlive(), heartbeat.isRemoved()]).toEqual([true, false]);
  });

  describe("on a store that can be watched", () => {
    const ref = { ...KINDS.lease, namespace: "isochrone", name: PLANNER_LEASE };
    const beat = async (store: ClusterStore, clock: ManualClock): Promise<void> => {
      await store.patch(ref, { spec: { renewTime: new Date(clock.now()).toISOString() } });
    };
    const beating = async (change: (store: ClusterStore) => Partial<ClusterStore> = () => ({})) => {
      const clock = new ManualClock();
      const store = createMemoryStore({ clock });
      const metadata = { namespace: "isochrone", name: PLANNER_LEASE };
      const spec = { holderIdentity: "planner", renewTime: new Date(clock.now()).toISOString() };
      await store.create({ ...KINDS.lease, metadata, spec });
      let gets = 0;
      const get: ClusterStore["get"] = async (asked) => (gets++, await store.get(asked));
      const heartbeat = heartbeatOn(storeWith(store, { get, ...change(store) }), clock);
      await heartbeat.start();
      return { clock, store, heartbeat, gets: () => gets };
    };
    const deaf: Partial<ClusterStore> = {
      watch: (_, { signal }) => ({
        [Symbol.asyncIterator]: () => ({
          next: () =>
            new Promise((resolve) =>
              signal.addEventListener("abort", () => resolve({ done: true, value: undefined })),
            ),
        }),
      }),
    };

    test("it is watched: nobody asks for it, and every sign of life is seen", async () => {
      const { clock, store, heartbeat, gets } = await beating();
      for (let second = 3; second <= 600; second += 3) {
        await clock.advance(3_000);
        await beat(store, clock);
        expect(heartbeat.isAlive()).toBe(true);
      }
      expect(gets()).toBe(0);
      await clock.advance(10_000);
      expect(heartbeat.isAlive()).toBe(false);
      await store.patch(ref, { spec: { holderIdentity: "" } });
      await clock.advance(1);
      expect(heartbeat.ageMs()).toBeNull();
      await heartbeat.stop();
    });

    test.each([
      ["has fallen silent", deaf],
      ["is forbidden", { list: () => Promise.reject(new StoreError("forbidden", "leases: list")) }],
    ])("it is asked for every few seconds where the watch %s", async (_, change) => {
      const { clock, store, heartbeat, gets } = await beating(() => change);
      for (let second = 3; second <= 60; second += 3) {
        await clock.advance(3_000);
        await beat(store, clock);
        expect(heartbeat.isAlive()).toBe(true);
      }
      expect(gets()).toBeGreaterThanOrEqual(12);
      expect(gets()).toBeLessThanOrEqual(13);
      await heartbeat.stop();
    });
  });
});

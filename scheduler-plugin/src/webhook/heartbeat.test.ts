import { KINDS, PLANNER_LEASE, StoreError, WEBHOOK_REMOVED_AT } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { describe, expect, test } from "vitest";
import { Heartbeat } from "./heartbeat.ts";

function rig() {
  const clock = new ManualClock();
  let lease: KubernetesObject | null | Error = null;
  const failures: string[] = [];
  const heartbeat = new Heartbeat({
    store: {
      get: async () => {
        if (lease instanceof Error) throw lease;
        return lease;
      },
    },
    namespace: "isochrone",
    maxAgeMs: 10_000,
    checkMs: 1_000,
    clock,
    logger: new MemoryLogger(),
    onFailure: (reason) => void failures.push(reason),
  });
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
});

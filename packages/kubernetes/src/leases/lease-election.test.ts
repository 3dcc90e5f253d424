import { seededRandom, systemClock } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { beforeEach, describe, expect, it } from "vitest";

import { createMemoryStore } from "../adapters/memory/memory.ts";
import { createLeaderElection } from "./lease-election.ts";
import type { LeaderElection, LeaderElectionOptions } from "./lease-election.ts";
import { LEASE_URL_ANNOTATION } from "./lease-record.ts";
import { KINDS } from "../kinds.ts";
import type { ClusterStore, KubernetesObject } from "../store/port.ts";

const REF = { ...KINDS.lease, namespace: "isochrone", name: "singleton" };

function unreliable(store: ClusterStore, before: () => Promise<void>): ClusterStore {
  return {
    get: async (ref) => (await before(), await store.get(ref)),
    list: async (kind, options) => (await before(), await store.list(kind, options)),
    create: async (object) => (await before(), await store.create(object)),
    update: async (object) => (await before(), await store.update(object)),
    patch: async (ref, patch) => (await before(), await store.patch(ref, patch)),
    jsonPatch: async (ref, operations) => (await before(), await store.jsonPatch(ref, operations)),
    apply: async (object, options) => (await before(), await store.apply(object, options)),
    evict: async (pod, options) => (await before(), await store.evict(pod, options)),
    delete: async (ref, options) => (await before(), await store.delete(ref, options)),
    scale: async (ref, replicas) => (await before(), await store.scale(ref, replicas)),
    bind: async (pod, node) => (await before(), await store.bind(pod, node)),
    watch: (kind, options) => store.watch(kind, options),
  };
}

describe("createLeaderElection", () => {
  let clock: ManualClock;
  let store: ClusterStore;
  let logger: MemoryLogger;
  let events: string[];

  beforeEach(() => {
    clock = new ManualClock();
    store = createMemoryStore({ clock });
    logger = new MemoryLogger({ clock });
    events = [];
  });

  const candidate = (identity: string, options: Partial<LeaderElectionOptions> = {}): LeaderElection =>
    createLeaderElection({
      store,
      clock,
      random: seededRandom(identity.length),
      logger,
      namespace: REF.namespace,
      name: REF.name,
      identity,
      url: () => `http://${identity}:8080`,
      onStartedLeading: () => events.push(`${identity} leads`),
      onStoppedLeading: () => events.push(`${identity} stops`),
      onNewHolder: (holder) => events.push(`${identity} sees ${holder?.identity ?? "nobody"}`),
      ...options,
    });
  const lease = async (): Promise<KubernetesObject | null> => await store.get(REF);
  const leaders = (...all: LeaderElection[]): number => all.filter((one) => one.isLeader()).length;

  it("makes the lease with everything that others read of it", async () => {
    const a = candidate("a", { labels: { app: "x" } });
    a.start();
    await clock.advance(0);
    expect(a.isLeader()).toBe(true);
    const stored = await lease();
    expect(stored?.metadata).toMatchObject({
      labels: { app: "x" },
      annotations: { [LEASE_URL_ANNOTATION]: "http://a:8080" },
    });
    expect(stored?.spec).toEqual({
      holderIdentity: "a",
      leaseDurationSeconds: 15,
      acquireTime: "2023-11-14T22:13:20.000001Z",
      renewTime: "2023-11-14T22:13:20.000001Z",
      leaseTransitions: 0,
    });
    await a.stop();
  });

  it("one of three leads, the others know it and where it is", async () => {
    const all = ["a", "bb", "ccc"].map((identity) => candidate(identity));
    for (const one of all) one.start();
    await clock.advance(60_000);
    expect(leaders(...all)).toBe(1);
    const holders = all.map((one) => one.holder());
    expect(new Set(holders.map((holder) => holder?.identity)).size).toBe(1);
    expect(holders[2]).toEqual({ identity: "a", url: "http://a:8080" });
    expect((await lease())?.spec).toMatchObject({ holderIdentity: "a", leaseTransitions: 0 });
    await Promise.all(all.map((one) => one.stop()));
  });

  it("renews every retry period, with one request each", async () => {
    let calls = 0;
    const a = candidate("a", { store: unreliable(store, async () => void (calls += 1)) });
    a.start();
    await clock.advance(20_000);
    expect(calls).toBe(12);
    expect(a.leadingForMs()).toBe(20_000);
    await a.stop();
  });

  it("a released lease is taken at the next attempt, not after its duration", async () => {
    const a = candidate("a");
    const b = candidate("bb");
    a.start();
    await clock.advance(0);
    b.start();
    await clock.advance(1_000);
    await a.stop();
    expect(a.isLeader()).toBe(false);
    expect((await lease())?.spec).toMatchObject({ holderIdentity: "", leaseDurationSeconds: 1 });
    expect((await lease())?.metadata.annotations).toEqual({});
    await clock.advance(4_400);
    expect(b.isLeader()).toBe(true);
    expect((await lease())?.spec).toMatchObject({
      holderIdentity: "bb",
      leaseDurationSeconds: 15,
      leaseTransitions: 1,
    });
    expect(events).toEqual([
      "a leads",
      "a sees a",
      "bb sees a",
      "a stops",
      "a sees nobody",
      "bb sees nobody",
      "bb leads",
      "bb sees bb",
    ]);
    await b.stop();
  });

  it("a crashed holder is followed after the lease's duration, counted from when its last renewal was seen", async () => {
    let dead = false;
    const a = candidate("a", {
      store: unreliable(store, () => (dead ? new Promise(() => undefined) : Promise.resolve())),
    });
    const b = candidate("bb");
    a.start();
    await clock.advance(0);
    b.start();
    await clock.advance(9_999);
    dead = true;
    await clock.advance(9_999);
    expect([a.isLeader(), b.isLeader()]).toEqual([false, false]);
    expect(events).toContain("a stops");
    await clock.advance(12_000);
    expect([a.isLeader(), b.isLeader()]).toEqual([false, true]);
    dead = false;
    await b.stop();
  });

  it("a holder whose store fails leads to the renew deadline and not longer, and takes the lease back", async () => {
    let failing = false;
    const a = candidate("a", {
      store: unreliable(store, () => (failing ? Promise.reject(new Error("refused")) : Promise.resolve())),
    });
    a.start();
    await clock.advance(0);
    failing = true;
    await clock.advance(9_999);
    expect(a.isLeader()).toBe(true);
    await clock.advance(1);
    expect(a.isLeader()).toBe(false);
    expect(a.holder()).toBeNull();
    expect(events).toEqual(["a leads", "a sees a", "a stops", "a sees nobody"]);
    expect(logger.events("warn")).toEqual(["lease neither taken nor renewed, trying again"]);
    failing = false;
    await clock.advance(4_400);
    expect(a.isLeader()).toBe(true);
    expect((await lease())?.spec).toMatchObject({ leaseTransitions: 0 });
    await a.stop();
  });

  it("a store that takes 4.5 s per request is good enough, the deadline counts from before the request", async () => {
    const slow = unreliable(store, () => clock.sleep(4_500));
    const a = candidate("a", { store: slow });
    const b = candidate("bb", { store: slow });
    a.start();
    await clock.advance(9_000);
    b.start();
    for (let second = 0; second < 120; second++) {
      await clock.advance(1_000);
      expect([second, a.isLeader(), b.isLeader()]).toEqual([second, true, false]);
    }
    const stopped = Promise.all([a.stop(), b.stop()]);
    await clock.advance(10_000);
    await stopped;
  });

  it("an answer that comes after the attempt's deadline gives nothing", async () => {
    const a = candidate("a", { store: unreliable(store, () => clock.sleep(6_000)) });
    a.start();
    for (let second = 0; second < 60; second++) {
      await clock.advance(1_000);
      expect(a.isLeader()).toBe(false);
    }
    const stopped = a.stop();
    await clock.advance(10_000);
    await stopped;
  });

  it("no longer leads when the event loop was blocked beyond the deadline, before any timer could run", async () => {
    let blockedMs = 0;
    const blocked = {
      now: () => clock.now() + blockedMs,
      monotonic: () => clock.monotonic() + blockedMs,
      sleep: (ms: number, signal?: AbortSignal) => clock.sleep(ms, signal),
    };
    const a = candidate("a", { clock: blocked });
    a.start();
    await clock.advance(1_000);
    blockedMs = 9_000;
    expect(a.isLeader()).toBe(false);
    expect(a.leadingForMs()).toBeNull();
    expect(events).toEqual(["a leads", "a sees a"]);
    await clock.advance(2_000);
    expect(a.isLeader()).toBe(true);
    expect(a.leadingForMs()).toBeLessThan(3_000);
    expect(events.slice(2)).toEqual(["a stops", "a sees nobody", "a leads", "a sees a"]);
    await a.stop();
  });

  it("the same with the system's clock and a loop that is really blocked", async () => {
    const timing = { leaseDurationMs: 2_000, renewDeadlineMs: 200, retryPeriodMs: 20 };
    const a = candidate("a", { clock: systemClock, ...timing });
    const leading = Promise.withResolvers<void>();
    const b = candidate("bb", { clock: systemClock, ...timing, onStartedLeading: () => leading.resolve() });
    b.start();
    await leading.promise;
    a.start();
    const untilMs = systemClock.monotonic() + 250;
    while (systemClock.monotonic() < untilMs);
    expect(b.isLeader()).toBe(false);
    await Promise.all([a.stop(), b.stop()]);
  });

  it("no step of any wall clock changes who leads", async () => {
    const a = candidate("a");
    const b = candidate("bb");
    a.start();
    await clock.advance(0);
    b.start();
    for (const stepMs of [3_600_000, -7_200_000, 86_400_000, -1, 1_000_000_000]) {
      clock.stepWall(stepMs);
      await clock.advance(20_000);
      expect([a.isLeader(), b.isLeader()]).toEqual([true, false]);
    }
    await Promise.all([a.stop(), b.stop()]);
  });

  it("a wall clock that stands still hides no renewal", async () => {
    const still = {
      now: () => 1_700_000_000_000,
      monotonic: () => clock.monotonic(),
      sleep: (ms: number, signal?: AbortSignal) => clock.sleep(ms, signal),
    };
    const a = candidate("a", { clock: still });
    const b = candidate("bb");
    a.start();
    await clock.advance(0);
    b.start();
    await clock.advance(60_000);
    expect([a.isLeader(), b.isLeader()]).toEqual([true, false]);
    await Promise.all([a.stop(), b.stop()]);
  });

  it("a lease that is deleted under its holder is not taken before it has run out", async () => {
    let cutOff = false;
    const a = candidate("a", {
      store: unreliable(store, () => (cutOff ? Promise.reject(new Error("cut off")) : Promise.resolve())),
    });
    const b = candidate("bb");
    a.start();
    await clock.advance(0);
    b.start();
    await clock.advance(4_000);
    cutOff = true;
    await store.delete(REF);
    for (let second = 0; second < 11; second++) {
      await clock.advance(1_000);
      expect(leaders(a, b)).toBeLessThanOrEqual(1);
    }
    expect(b.isLeader()).toBe(false);
    await clock.advance(10_000);
    expect(b.isLeader()).toBe(true);
    await Promise.all([a.stop(), b.stop()]);
  });

  it("a holder puts a deleted lease back", async () => {
    const a = candidate("a");
    a.start();
    await clock.advance(0);
    await store.delete(REF);
    await clock.advance(2_000);
    expect(a.isLeader()).toBe(true);
    expect((await lease())?.spec).toMatchObject({ holderIdentity: "a" });
    await a.stop();
  });

  it("what others write beside the lease stays, and ends no term", async () => {
    const a = candidate("a");
    a.start();
    await clock.advance(0);
    await store.patch(REF, { metadata: { annotations: { note: "kept" } } });
    await clock.advance(4_000);
    expect(a.isLeader()).toBe(true);
    expect((await lease())?.metadata.annotations).toEqual({
      note: "kept",
      [LEASE_URL_ANNOTATION]: "http://a:8080",
    });
    expect(events).toEqual(["a leads", "a sees a"]);
    await a.stop();
  });

  it("takes a lease of which nobody can tell who holds it", async () => {
    await store.create({
      ...KINDS.lease,
      metadata: { namespace: REF.namespace, name: REF.name },
      spec: { holderIdentity: 7, leaseDurationSeconds: "long", leaseTransitions: -1 },
    });
    const a = candidate("a");
    a.start();
    await clock.advance(0);
    expect(a.isLeader()).toBe(true);
    expect((await lease())?.spec).toMatchObject({ leaseTransitions: 1 });
    await a.stop();
  });

  it("a later life under another identity waits out its former one", async () => {
    const previous = candidate("pod-1_x", {
      store: unreliable(store, () =>
        clock.monotonic() > 0 ? new Promise(() => undefined) : Promise.resolve(),
      ),
    });
    previous.start();
    await clock.advance(0);
    const later = candidate("pod-1_y");
    later.start();
    await clock.advance(14_999);
    expect(later.isLeader()).toBe(false);
    await clock.advance(4_401);
    expect(later.isLeader()).toBe(true);
    await later.stop();
  });

  it("stop does not wait for a store that hangs longer than a retry period, and leaves no timer", async () => {
    let hanging = false;
    const a = candidate("a", {
      store: unreliable(store, () => (hanging ? new Promise(() => undefined) : Promise.resolve())),
    });
    a.start();
    await clock.advance(0);
    hanging = true;
    await clock.advance(3_000);
    const stopped = a.stop();
    expect(a.isLeader()).toBe(false);
    await clock.advance(2_000);
    await stopped;
    expect(clock.pending).toBe(0);
    a.start();
    await clock.advance(60_000);
    expect(a.isLeader()).toBe(false);
    expect(logger.events("warn")).toContain("lease not released; others wait until it ends");
  });

  it("a listener that throws ends nothing", async () => {
    const a = candidate("a", {
      onStartedLeading: () => {
        throw new Error("listener");
      },
    });
    a.start();
    await clock.advance(10_000);
    expect(a.isLeader()).toBe(true);
    expect(logger.events("error")).toEqual(["lease listener failed"]);
    await a.stop();
  });

  it.each([
    [
      { renewDeadlineMs: 15_000 },
      "leaseDurationMs of an election must be above renewDeadlineMs (15000), got 15000",
    ],
    [
      { retryPeriodMs: 6_000 },
      "renewDeadlineMs of an election must be at least twice retryPeriodMs (6000), got 10000",
    ],
    [{ retryPeriodMs: 0 }, "retryPeriodMs of an election must be above 0, got 0"],
    [{ identity: "" }, 'identity of an election must not be empty, got ""'],
    [{ name: "No" }, 'name of an election must be an RFC 1123 subdomain, got "No"'],
    [{ namespace: "a.b" }, 'namespace of an election must be an RFC 1123 label, got "a.b"'],
  ])("refuses %j", (options, message) => {
    expect(() => candidate("a", options)).toThrow(message);
  });
});

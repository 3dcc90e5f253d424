import { seededRandom } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { beforeEach, describe, expect, it } from "vitest";

import { createMemoryStore } from "../adapters/memory/memory.ts";
import { StoreError } from "../store/errors.ts";
import { createLeaderElection } from "./lease-election.ts";
import type { LeaderElection, LeaderElectionOptions } from "./lease-election.ts";
import type { ClusterStore } from "../store/port.ts";

describe("a candidate that waits", () => {
  let clock: ManualClock;
  let store: ClusterStore;

  beforeEach(() => {
    clock = new ManualClock();
    store = createMemoryStore({ clock });
  });

  const candidate = (identity: string, options: Partial<LeaderElectionOptions> = {}): LeaderElection =>
    createLeaderElection({
      store,
      clock,
      random: seededRandom(identity.length),
      logger: new MemoryLogger({ clock }),
      namespace: "isochrone",
      name: "singleton",
      identity,
      ...options,
    });

  /** Requests of the waiting candidate within `forMs`, after 10 s of settling. */
  const requestsOf = async (
    b: (counted: ClusterStore) => LeaderElection,
    forMs: number,
  ): Promise<string[]> => {
    const asked: string[] = [];
    const a = candidate("a");
    const waiting = b({
      ...storeOf(store),
      get: async (ref) => (asked.push("get"), await store.get(ref)),
      list: async (kind, options) => (asked.push("list"), await store.list(kind, options)),
      update: async (object) => (asked.push("update"), await store.update(object)),
    });
    a.start();
    await clock.advance(0);
    waiting.start();
    await clock.advance(10_000);
    asked.length = 0;
    await clock.advance(forMs);
    expect([a.isLeader(), waiting.isLeader(), waiting.holder()?.identity]).toEqual([true, false, "a"]);
    const requests = [...asked];
    await a.stop();
    await clock.advance(15_000);
    expect(waiting.isLeader()).toBe(true);
    await waiting.stop();
    return requests;
  };

  it("watches and asks for nothing", async () => {
    expect(await requestsOf((counted) => candidate("bb", { store: counted }), 600_000)).toEqual([]);
  });

  it("takes a released lease as soon as it sees the release", async () => {
    const [a, b] = [candidate("a"), candidate("bb")];
    a.start();
    await clock.advance(0);
    b.start();
    await clock.advance(60_000);
    await a.stop();
    await clock.advance(1);
    expect(b.isLeader()).toBe(true);
    await b.stop();
  });

  it("whose watch has fallen silent asks once a lease duration, and takes nothing that is held", async () => {
    const deaf = (counted: ClusterStore): ClusterStore => ({
      ...counted,
      watch: (_, { signal }) => ({
        [Symbol.asyncIterator]: () => ({
          next: () =>
            new Promise((resolve) =>
              signal.addEventListener("abort", () => resolve({ done: true, value: undefined })),
            ),
        }),
      }),
    });
    const requests = await requestsOf((counted) => candidate("bb", { store: deaf(counted) }), 600_000);
    expect(requests.every((request) => request === "get")).toBe(true);
    // 15 s from the last observation to the next read, and the pause after it.
    expect(requests.length).toBeGreaterThan(600 / (15 + 4.4) - 1);
    expect(requests.length).toBeLessThanOrEqual(600 / 15);
  });

  it("without the right to watch asks every 2 to 4.4 s, as one of client-go", async () => {
    const blind = (counted: ClusterStore): ClusterStore => ({
      ...counted,
      list: () => Promise.reject(new StoreError("forbidden", "leases are not to be listed")),
    });
    const requests = await requestsOf((counted) => candidate("bb", { store: blind(counted) }), 600_000);
    expect(requests.length).toBeGreaterThan(600 / 4.4 - 1);
    expect(requests.length).toBeLessThanOrEqual(600 / 2);
  });
});

function storeOf(store: ClusterStore): ClusterStore {
  return Object.assign(Object.create(store) as ClusterStore, {
    create: (object: Parameters<ClusterStore["create"]>[0]) => store.create(object),
    watch: (...asked: Parameters<ClusterStore["watch"]>) => store.watch(...asked),
  });
}

import { candidacy, type LeaderElection } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { seededRandom } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { describe, expect, test } from "vitest";
import { AGGREGATOR_LEASE, deskAfterElection } from "./leadership.ts";

describe("a candidacy", () => {
  test("two lives of one replica are two candidates", async () => {
    const clock = new ManualClock();
    const store = createMemoryStore({ clock });
    const life = (seed: number): LeaderElection =>
      candidacy(
        {
          store,
          clock,
          random: seededRandom(seed),
          logger: new MemoryLogger(),
          namespace: "isochrone",
          replica: "a",
        },
        AGGREGATOR_LEASE,
      );
    const [former, later] = [life(1), life(2)];
    former.start();
    await clock.advance(0);
    later.start();
    await clock.advance(60_000);
    expect([former.isLeader(), later.isLeader()]).toEqual([true, false]);
    expect(later.holder()?.identity).toMatch(/^a_\w+$/);
    expect(later.leadingForMs()).toBeNull();
    await former.stop();
    await clock.advance(5_000);
    expect(later.isLeader()).toBe(true);
    await later.stop();
  });
});

describe("the desk after an election", () => {
  const lease = { id: "x", target: "n1", expiresInMs: 30_000, maxBytes: 1 };
  const inner = {
    acquire: () => ({ lease, retryAfterMs: 30_000 }),
    release: () => undefined,
  };
  const deskAt = (leadingForMs: number | null, denials: string[] = []) =>
    deskAfterElection(
      inner,
      { isLeader: () => leadingForMs !== null, leadingForMs: () => leadingForMs, holder: () => null },
      30_000,
      (denial) => denials.push(denial),
    );

  test("gives nothing until the leases of the leader before have run out", () => {
    const denials: string[] = [];
    const answer = deskAt(10_000, denials).acquire("n0");
    expect(answer).toMatchObject({ lease: null, denial: "starting" });
    expect(answer.retryAfterMs).toBeGreaterThanOrEqual(20_000);
    expect(answer.retryAfterMs).toBeLessThanOrEqual(25_000);
    expect(denials).toEqual(["starting"]);
    expect(deskAt(29_999).acquire("n0").lease).toBeNull();
    expect(deskAt(30_000).acquire("n0").lease).toEqual(lease);
  });

  test("sends nodes away for different times, and leaves what a replica that does not lead says to the desk", () => {
    const waits = Array.from({ length: 50 }, (_, index) => deskAt(0).acquire(`n${index}`).retryAfterMs);
    expect(new Set(waits).size).toBeGreaterThan(45);
    expect(deskAt(null).acquire("n0").lease).toEqual(lease);
  });
});

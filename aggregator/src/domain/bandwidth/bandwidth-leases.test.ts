import { seededRandom } from "@isochrone/runtime";
import { beforeEach, describe, expect, test } from "vitest";
import { BandwidthLeases, type LeaseAnswer, type LeaseNode, type LeaseRule } from "./bandwidth-leases.ts";
import { ByteBudgets } from "./byte-budgets.ts";
import { RecentTests } from "./recent-tests.ts";

const RULE: LeaseRule = {
  leaseMs: 30_000,
  testBytes: 100,
  bytesPerHour: 1_000,
  pairIntervalMs: 600_000,
  maxPairs: 1_000,
};
const HOUR_MS = 3_600_000;

let ids = 0;
const nextId = (): string => `lease-${++ids}`;
const at = (name: string, zone = "z"): LeaseNode => ({ name, zone });
const [a, b, c, d] = [at("a", "z1"), at("b", "z2"), at("c", "z3"), at("d", "z4")];

const leasesOf = (rule: Partial<LeaseRule> = {}): BandwidthLeases => {
  const whole = { ...RULE, ...rule };
  return new BandwidthLeases(whole, nextId, -whole.leaseMs);
};
const idOf = ({ lease }: LeaseAnswer): string => lease!.id;

beforeEach(() => {
  ids = 0;
});

describe("BandwidthLeases", () => {
  test("a lease names its target, its end and its bytes", () => {
    expect(leasesOf().acquire(a, [b], 0)).toEqual({
      lease: { id: "lease-1", target: "b", expiresInMs: 30_000, maxBytes: 100 },
      retryAfterMs: 30_000,
    });
  });

  test("after a start leases of an earlier life may be out: nothing is given for as long as they last", () => {
    const leases = new BandwidthLeases(RULE, nextId, 1_000);
    expect(leases.acquire(a, [b], 1_000)).toMatchObject({ lease: null, denial: "starting" });
    expect(leases.acquire(a, [b], 30_999)).toMatchObject({ lease: null, denial: "starting" });
    expect(leases.acquire(a, [b], 31_000).lease).not.toBeNull();
  });

  test("a node is in one test at a time, as source or as target", () => {
    const leases = leasesOf();
    leases.acquire(a, [b], 0);
    expect(leases.acquire(a, [c], 1)).toMatchObject({ denial: "node_busy" });
    expect(leases.acquire(b, [c], 1)).toMatchObject({ denial: "node_busy" });
    expect(leases.acquire(c, [a], 1)).toMatchObject({ denial: "target_busy" });
    expect(leases.acquire(c, [b], 1)).toMatchObject({ denial: "target_busy" });
    expect(leases.acquire(c, [b, d], 1)).toMatchObject({ lease: { target: "d" } });
  });

  test("between two zones there is one test at a time, in whichever direction", () => {
    const leases = leasesOf();
    leases.acquire(at("a1", "z1"), [at("b1", "z2")], 0);
    expect(leases.acquire(at("b2", "z2"), [at("a2", "z1")], 1)).toMatchObject({ denial: "zone_pair_busy" });
    expect(leases.acquire(at("a3", "z1"), [at("a4", "z1")], 1).lease).not.toBeNull();
    expect(leases.acquire(at("a5", "z1"), [at("a6", "z1")], 2)).toMatchObject({ denial: "zone_pair_busy" });
  });

  test("nodes without a zone count as one zone", () => {
    const leases = leasesOf();
    leases.acquire(at("a", ""), [at("b", "")], 0);
    expect(leases.acquire(at("c", ""), [at("d", "")], 1)).toMatchObject({ denial: "zone_pair_busy" });
    expect(leases.acquire(at("c", ""), [at("e", "z")], 1).lease).not.toBeNull();
  });

  test("a lease that is given back frees nodes and zones; giving it back twice does nothing", () => {
    const leases = leasesOf();
    const id = idOf(leases.acquire(a, [b], 0));
    expect([leases.release(id, 1), leases.release(id, 2), leases.release("never", 3)]).toEqual([
      true,
      false,
      false,
    ]);
    expect(leases.acquire(b, [a], 4).lease).not.toBeNull();
    expect(leases.expired).toBe(0);
  });

  test("a lease that isn't given back ends by itself, and is counted", () => {
    const leases = leasesOf();
    const id = idOf(leases.acquire(a, [b], 0));
    expect(leases.active(29_999)).toBe(1);
    expect(leases.active(30_000)).toBe(0);
    expect(leases.expired).toBe(1);
    expect(leases.acquire(b, [a], 30_000).lease).not.toBeNull();
    // A late release must not end the next lease.
    expect(leases.release(id, 30_001)).toBe(false);
    expect(leases.active(30_001)).toBe(1);
  });

  test("zones that were never tested come first, then the longest untested, then the pair", () => {
    const leases = leasesOf({ pairIntervalMs: 0 });
    const targets = [at("b1", "z2"), at("b2", "z2"), at("c1", "z3"), at("a2", "z1")];
    const order = Array.from({ length: 8 }, (_, step) => {
      const answer = leases.acquire(a, targets, step * 1_000);
      leases.release(idOf(answer), step * 1_000 + 500);
      return targets.find(({ name }) => name === answer.lease!.target)!;
    });
    const zones = order.map(({ zone }) => zone);
    expect(new Set(zones.slice(0, 3)).size).toBe(3);
    expect(zones.slice(3, 6)).toEqual(zones.slice(0, 3));
    const inZone2 = order.filter(({ zone }) => zone === "z2").map(({ name }) => name);
    expect(inZone2[1]).not.toBe(inZone2[0]);
  });

  test("another node's test of the same zones counts: one pair per zone suffices", () => {
    const leases = leasesOf();
    leases.release(idOf(leases.acquire(at("a9", "z1"), [b], 0)), 1);
    expect(leases.acquire(a, [b, c], 2)).toMatchObject({ lease: { target: "c" } });
  });

  test("a pair isn't tested again before its time, the way back is another pair", () => {
    const leases = leasesOf();
    leases.release(idOf(leases.acquire(a, [b], 0)), 1);
    const early = leases.acquire(a, [b], 1_000);
    expect(early).toMatchObject({ denial: "pair_recent" });
    expect(early.retryAfterMs).toBeGreaterThanOrEqual(599_000);
    leases.release(idOf(leases.acquire(b, [a], 2_000)), 2_001);
    expect(leases.acquire(a, [b], 600_000).lease).not.toBeNull();
  });

  test("the bytes of an hour count for source and target, and come back after an hour", () => {
    const leases = leasesOf({ bytesPerHour: 250, pairIntervalMs: 0 });
    for (const [source, target, ms] of [
      [a, b, 0],
      [c, a, 1_000],
    ] as const) {
      leases.release(idOf(leases.acquire(source, [target], ms)), ms + 1);
    }
    expect(leases.acquire(a, [d], 2_000)).toMatchObject({ denial: "node_budget" });
    expect(leases.acquire(d, [a], 2_000)).toMatchObject({ denial: "target_budget" });
    expect(leases.acquire(d, [a], 2_000).retryAfterMs).toBeGreaterThanOrEqual(HOUR_MS - 2_000);
    expect(leases.acquire(d, [a], HOUR_MS).lease).not.toBeNull();
  });

  test("a budget of nothing means no tests", () => {
    const answer = leasesOf({ bytesPerHour: 0 }).acquire(a, [b], 0);
    expect(answer).toMatchObject({ lease: null, denial: "node_budget" });
    expect(answer.retryAfterMs).toBeLessThanOrEqual(1.25 * HOUR_MS);
  });

  test("without a peer that takes bursts there is nothing to test", () => {
    expect(leasesOf().acquire(a, [], 0)).toMatchObject({ denial: "no_target" });
  });

  test("those who wait for the same thing come back at different times", () => {
    const leases = leasesOf();
    leases.acquire(at("a", "z"), [at("b", "z")], 0);
    const waits = Array.from(
      { length: 50 },
      (_, index) => leases.acquire(at(`n${index}`, "z"), [at("m", "z")], 1).retryAfterMs,
    );
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(29_999);
    expect(Math.max(...waits)).toBeLessThanOrEqual(37_500);
    expect(new Set(waits).size).toBeGreaterThan(40);
  });
});

test("over a day of random asking no rule is ever broken", () => {
  const random = seededRandom(3);
  const nodes = Array.from({ length: 60 }, (_, index) => at(`n${index}`, `z${index % 4}`));
  const leases = leasesOf({ bytesPerHour: 500 });
  const out = new Map<string, { readonly nodes: string[]; readonly zones: string; readonly endMs: number }>();
  const spent = new Map<string, number[]>();
  let granted = 0;
  for (let nowMs = 0; nowMs < 24 * HOUR_MS; nowMs += Math.floor(random.next() * 8_000)) {
    for (const [id, { endMs }] of out) {
      if (endMs > nowMs && random.next() < 0.8) continue;
      if (endMs > nowMs) leases.release(id, nowMs);
      out.delete(id);
    }
    const source = nodes[Math.floor(random.next() * nodes.length)]!;
    const targets = nodes.filter((node) => node !== source && random.next() < 0.2);
    const { lease } = leases.acquire(source, targets, nowMs);
    if (lease === null) continue;
    granted += 1;
    const target = nodes.find(({ name }) => name === lease.target)!;
    expect(targets).toContain(target);
    const zones = [source.zone, target.zone].toSorted().join();
    for (const other of out.values()) {
      expect(other.nodes).not.toContain(source.name);
      expect(other.nodes).not.toContain(target.name);
      expect(other.zones).not.toBe(zones);
    }
    out.set(lease.id, { nodes: [source.name, target.name], zones, endMs: nowMs + lease.expiresInMs });
    for (const { name } of [source, target]) {
      const times = [...(spent.get(name) ?? []), nowMs].filter((ms) => ms > nowMs - HOUR_MS);
      expect(times.length * lease.maxBytes).toBeLessThanOrEqual(500);
      spent.set(name, times);
    }
    expect(leases.active(nowMs)).toBe(out.size);
  }
  expect(granted).toBeGreaterThan(1_000);
});

test("what is remembered is bounded", () => {
  const tests = new RecentTests(3);
  for (const key of ["a", "b", "c", "a", "d"]) tests.mark(key, 1);
  expect(tests.size).toBe(3);
  expect([tests.last("a"), tests.last("b")]).toEqual([1, Number.NEGATIVE_INFINITY]);
  const budgets = new ByteBudgets(100);
  for (let node = 0; node < 1_000; node++) budgets.charge(`n${node}`, 1, node * 36_000);
  expect(budgets.size).toBeLessThanOrEqual(101);
});

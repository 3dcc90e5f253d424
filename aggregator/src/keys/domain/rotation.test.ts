import { seededRandom } from "@isochrone/runtime";
import { describe, expect, test } from "vitest";
import { RotatingCluster, type Troubles } from "../../testing/rotating-probes.ts";
import { KeyReports } from "./key-reports.ts";
import { KeyRotation, type AwaitedProbe, type KeyringFacts, type RotationRule } from "./rotation.ts";

const RULE: RotationRule = { rotationMs: 600_000, confirmMs: 3_600_000, graceMs: 4_000 };
const REPORT_AGE_MS = 60_000;

const at = (ms: number) => ({ wallMs: ms, monotonicMs: ms });
const ring = (signingKeyId: number, ...ids: number[]): KeyringFacts => ({
  keys: ids.map((id) => ({ id, createdAtMs: 0 })),
  signingKeyId,
});
const probe = (node: string, heldKeyIds: number[] | null, signingKeyId = 1): AwaitedProbe => ({
  node,
  report: heldKeyIds === null ? null : { heldKeyIds, signingKeyId },
});

describe("KeyRotation", () => {
  test("without keys the first one is made", () => {
    expect(new KeyRotation(RULE).next(null, [], at(0))).toEqual({ kind: "publish", keyId: 1 });
  });

  test("a key that is old enough gets a successor, and one that isn't does not", () => {
    const rotation = new KeyRotation(RULE);
    expect(rotation.next(ring(1, 1), [], at(599_999))).toEqual({ kind: "wait", awaited: [] });
    expect(rotation.next(ring(1, 1), [], at(600_000))).toEqual({ kind: "publish", keyId: 2 });
  });

  test("no rotation is asked for: the key stays", () => {
    const rotation = new KeyRotation({ ...RULE, rotationMs: 0 });
    expect(rotation.next(ring(1, 1), [], at(1e15))).toEqual({ kind: "wait", awaited: [] });
  });

  test("a clock that was put back a year doesn't keep a key for a year", () => {
    const rotation = new KeyRotation(RULE);
    const early = { wallMs: -3e10, monotonicMs: 5_000 };
    expect(rotation.next(ring(1, 1), [], early).kind).toBe("wait");
    expect(rotation.next(ring(1, 1), [], { wallMs: -3e10, monotonicMs: 605_000 }).kind).toBe("publish");
  });

  test("the next key signs when all hold it, and not when one has said nothing", () => {
    const rotation = new KeyRotation(RULE);
    const keys = ring(1, 1, 2);
    expect(rotation.next(keys, [probe("a", [1, 2]), probe("b", [1]), probe("c", null)], at(0))).toEqual({
      kind: "wait",
      awaited: ["b", "c"],
    });
    expect(rotation.next(keys, [probe("a", [1, 2]), probe("b", [2, 1])], at(5))).toEqual({
      kind: "sign",
      keyId: 2,
      unconfirmed: [],
    });
  });

  test("a key that nobody confirms settles first: readers must have it before it signs", () => {
    const rotation = new KeyRotation({ ...RULE, settleMs: 30_000 });
    const keys = ring(1, 1, 2);
    expect(rotation.next(keys, [], at(0))).toEqual({ kind: "wait", awaited: [] });
    expect(rotation.next(keys, [], at(29_999)).kind).toBe("wait");
    expect(rotation.next(keys, [], at(30_000))).toEqual({ kind: "sign", keyId: 2, unconfirmed: [] });
  });

  test("the old key goes when all sign with the new one for as long as a packet may be under way", () => {
    const rotation = new KeyRotation(RULE);
    const keys = ring(2, 1, 2);
    const signing = [probe("a", [1, 2], 2), probe("b", [1, 2], 2)];
    expect(rotation.next(keys, [probe("a", [1, 2], 1), probe("b", [1, 2], 2)], at(0))).toEqual({
      kind: "wait",
      awaited: ["a"],
    });
    expect(rotation.next(keys, signing, at(1_000)).kind).toBe("wait");
    // A probe restarted with an older plan, so the wait starts again.
    expect(rotation.next(keys, [probe("a", [1, 2], 1)], at(4_000)).kind).toBe("wait");
    expect(rotation.next(keys, signing, at(5_000)).kind).toBe("wait");
    expect(rotation.next(keys, signing, at(8_999)).kind).toBe("wait");
    expect(rotation.next(keys, signing, at(9_000))).toEqual({
      kind: "retire",
      keptKeyId: 2,
      unconfirmed: [],
    });
  });

  test("a probe that never confirms is named, and holds nobody up for longer than the bound", () => {
    const rotation = new KeyRotation(RULE);
    const probes = [probe("a", [1, 2]), probe("stuck", [1])];
    expect(rotation.next(ring(1, 1, 2), probes, at(10)).kind).toBe("wait");
    expect(rotation.next(ring(1, 1, 2), probes, at(3_600_009)).kind).toBe("wait");
    expect(rotation.next(ring(1, 1, 2), probes, at(3_600_010))).toEqual({
      kind: "sign",
      keyId: 2,
      unconfirmed: ["stuck"],
    });
  });

  test("a wall clock that jumps ahead doesn't cut waiting short", () => {
    const rotation = new KeyRotation(RULE);
    const probes = [probe("a", [1])];
    expect(rotation.next(ring(1, 1, 2), probes, { wallMs: 0, monotonicMs: 0 }).kind).toBe("wait");
    expect(rotation.next(ring(1, 1, 2), probes, { wallMs: 9e12, monotonicMs: 1_000 }).kind).toBe("wait");
  });

  test("ids come round, past those in use", () => {
    const rotation = new KeyRotation(RULE);
    expect(rotation.next(ring(65_535, 1, 65_535), [], at(0)).kind).toBe("wait");
    expect(rotation.next(ring(65_535, 65_535), [], at(600_000))).toEqual({ kind: "publish", keyId: 1 });
  });
});

describe("a cluster whose keys are replaced", () => {
  const calm: Troubles = { fileDelay: 90, restart: 0, outage: 0, outageLength: 0 };
  const rough: Troubles = { fileDelay: 90, restart: 1 / 600, outage: 1 / 1200, outageLength: 600 };
  const newAggregator = () => ({ rotation: new KeyRotation(RULE), reports: new KeyReports(REPORT_AGE_MS) });

  test.each([
    ["calm", calm, 6],
    ["rough", rough, 1],
  ] as const)("%s: no probe ever gets a packet that it can't verify", (_, troubles, atLeast) => {
    for (let seed = 1; seed <= 12; seed++) {
      const random = seededRandom(seed);
      const cluster = new RotatingCluster(25, random, troubles);
      let aggregator = newAggregator();
      for (let second = 0; second < 7_200; second++) {
        if (random.next() < 1 / 900) cluster.join(`late-${second}`);
        if (random.next() < 1 / 900) cluster.leave(cluster.probes[0]!.node);
        // Restart or failover: all reports are forgotten.
        if (random.next() < 1 / 900) aggregator = newAggregator();
        cluster.step(second % 1_500 < 60 ? null : aggregator);
      }
      expect(cluster.refusals).toEqual([]);
      expect(cluster.unconfirmed).toEqual([]);
      expect(cluster.rotations).toBeGreaterThanOrEqual(atLeast);
      expect(cluster.packets).toBeGreaterThan(100_000);
    }
  });

  test("one whose file never changes is gone on without; nobody else loses a packet", () => {
    const cluster = new RotatingCluster(10, seededRandom(7), calm);
    cluster.join("stuck", Number.POSITIVE_INFINITY);
    const aggregator = newAggregator();
    for (let second = 0; second < 9_000; second++) cluster.step(aggregator);
    expect(cluster.rotations).toBe(1);
    expect(new Set(cluster.unconfirmed)).toEqual(new Set(["stuck"]));
    expect(cluster.refusals.length).toBeGreaterThan(0);
    expect(cluster.refusals.every(({ from, to }) => from === "stuck" || to === "stuck")).toBe(true);
  });

  test("the simulation would see it: signing at once loses packets", () => {
    const cluster = new RotatingCluster(25, seededRandom(1), calm);
    const hasty = new KeyRotation({ ...RULE, confirmMs: 0, graceMs: 0 });
    const reports = new KeyReports(REPORT_AGE_MS);
    for (let second = 0; second < 1_500; second++) cluster.step({ rotation: hasty, reports });
    expect(cluster.refusals.length).toBeGreaterThan(100);
  });
});

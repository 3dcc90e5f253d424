import { createRegistry, seededRandom } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import type { ClusterGraphSnapshot } from "@isochrone/topology";
import { beforeEach, describe, expect, test } from "vitest";
import { CoordinateKeeper } from "./coordinate-keeper.ts";
import { createCoordinateMetrics } from "./coordinate-metrics.ts";
import { CoordinateError } from "../ports/errors.ts";
import { HeldFitter } from "../testing/fits.ts";
import { linkOf, snapshotOf } from "../testing/snapshots.ts";

const INTERVAL_MS = 15_000;
const MAX_AGE_MS = 90_000;

let clock: ManualClock;
let fitter: HeldFitter;
let logger: MemoryLogger;
let keeper: CoordinateKeeper;

beforeEach(() => {
  clock = new ManualClock();
  fitter = new HeldFitter();
  logger = new MemoryLogger();
  keeper = new CoordinateKeeper({
    fitter,
    clock,
    random: seededRandom(1),
    logger,
    intervalMs: INTERVAL_MS,
    maxAgeMs: MAX_AGE_MS,
  });
});

/** A star graph: the middle node measures all others. */
function star(costMs: number, others = 20): ClusterGraphSnapshot {
  const names = Array.from({ length: others }, (_, index) => `n${index}`);
  const links = names.map((name) => linkOf("middle", name, costMs));
  return { ...snapshotOf(["middle", ...names], links), observedAt: new Date(clock.now()).toISOString() };
}

async function offerAndSucceed(graph: ClusterGraphSnapshot): Promise<void> {
  const before = fitter.inputs.length;
  keeper.offer(graph);
  expect(fitter.inputs).toHaveLength(before + 1);
  fitter.succeed();
  await keeper.settled();
}

describe("CoordinateKeeper", () => {
  test("fits the first graph that has samples at once, and then once per interval", async () => {
    keeper.offer(snapshotOf(["a", "b"], []));
    expect(fitter.inputs).toHaveLength(0);
    expect(keeper.current()).toBeNull();
    await offerAndSucceed(star(5));
    expect(keeper.current()!.coordinateOf("n0")).toEqual([1, 2, 0.5]);
    for (let passed = 0; passed < INTERVAL_MS - 1000; passed += 1000) {
      await clock.advance(1000);
      keeper.offer(star(6 + passed));
    }
    expect(fitter.inputs).toHaveLength(1);
    await clock.advance(1000);
    await offerAndSucceed(star(9));
    expect([...fitter.inputs[1]!.samples.rttMs]).toEqual(Array.from({ length: 20 }, () => 9));
  });

  test("doesn't fit the same samples again", async () => {
    await offerAndSucceed(star(5));
    await clock.advance(INTERVAL_MS);
    keeper.offer(star(5));
    expect(fitter.inputs).toHaveLength(1);
    expect(keeper.counts.results).toMatchObject({ ok: 1, unchanged: 1 });
  });

  test("never has two fits at a time", async () => {
    keeper.offer(star(5));
    await clock.advance(10 * INTERVAL_MS);
    keeper.offer(star(6));
    expect(fitter.inputs).toHaveLength(1);
  });

  test("fits before its time when the cluster has grown, but not without a pause", async () => {
    await offerAndSucceed(star(5, 20));
    keeper.offer(star(5, 30));
    await clock.advance(INTERVAL_MS / 4);
    keeper.offer(star(6, 21));
    expect(fitter.inputs).toHaveLength(1);
    await offerAndSucceed(star(5, 30));
  });

  test("gives its thread a rest of four times its work", async () => {
    keeper.offer(star(5));
    fitter.succeed({ durationMs: 5000 });
    await keeper.settled();
    await clock.advance(19_000);
    keeper.offer(star(6));
    expect(fitter.inputs).toHaveLength(1);
    await clock.advance(1000);
    keeper.offer(star(6));
    expect(fitter.inputs).toHaveLength(2);
  });

  test("doesn't use coordinates older than it is told, whatever the time of day does", async () => {
    await offerAndSucceed(star(5));
    clock.stepWall(3_600_000);
    await clock.advance(MAX_AGE_MS);
    expect(keeper.current()).not.toBeNull();
    await clock.advance(1);
    expect(keeper.current()).toBeNull();
    expect(keeper.ageMs()).toBe(MAX_AGE_MS + 1);
  });

  test("keeps the last coordinates when a fit fails, and tries again after pauses that grow", async () => {
    await offerAndSucceed(star(5));
    await clock.advance(INTERVAL_MS);
    const triedMs: number[] = [];
    while (triedMs.length < 7) {
      keeper.offer(star(6));
      if (fitter.inputs.length === triedMs.length + 1) await clock.advance(100);
      else {
        triedMs.push(clock.monotonic());
        const code = triedMs.length % 2 === 0 ? "coordinate_fit_timeout" : "coordinate_thread_died";
        fitter.fail(new CoordinateError(code, "no coordinates"));
        await keeper.settled();
      }
    }
    const pauses = triedMs.slice(1).map((ms, index) => ms - triedMs[index]!);
    // Backoff of 2^n s, up to half of it random.
    for (const [index, pauseMs] of pauses.entries()) expect(pauseMs).toBeGreaterThanOrEqual(500 * 2 ** index);
    expect(pauses.at(-1)!).toBeLessThanOrEqual(32_100);
    expect(keeper.current()!.coordinateOf("n0")).toEqual([1, 2, 0.5]);
    expect(keeper.counts.results).toMatchObject({ ok: 1, crashed: 4, timeout: 3 });
    const told = logger.lines.filter(({ event }) => event.startsWith("fitting coordinates failed"));
    expect(told).toHaveLength(7);
  });

  test("fits the same samples again after a failure", async () => {
    keeper.offer(star(5));
    fitter.fail(new Error("something else"));
    await keeper.settled();
    expect(keeper.counts.results.failed).toBe(1);
    await clock.advance(INTERVAL_MS);
    await offerAndSucceed(star(5));
  });

  test("ends with the fit under way, and begins none after it", async () => {
    keeper.offer(star(5));
    await keeper.close();
    await clock.advance(INTERVAL_MS);
    keeper.offer(star(6));
    expect(fitter.inputs).toHaveLength(1);
    expect([fitter.closed, keeper.current(), logger.lines.length]).toEqual([true, null, 0]);
  });

  test("tells by metrics how old and how good the coordinates are, and what was left out", async () => {
    const registry = createRegistry();
    createCoordinateMetrics(registry, keeper);
    expect(await registry.metrics()).toMatch(/^isochrone_coordinate_error nan$/im);
    keeper.offer(star(5));
    fitter.succeed({ durationMs: 40, rejected: { self: 0, invalidRtt: 3 } });
    await keeper.settled();
    await clock.advance(2000);
    const text = await registry.metrics();
    for (const line of [
      "isochrone_coordinate_error 0.1",
      "isochrone_aggregator_coordinate_age_seconds 2",
      "isochrone_aggregator_coordinate_pairs 20",
      'isochrone_aggregator_coordinate_fits_total{result="ok"} 1',
      'isochrone_aggregator_coordinate_samples_rejected_total{reason="invalidRtt"} 3',
      'isochrone_aggregator_coordinate_fit_duration_seconds_bucket{le="0.1"} 1',
    ])
      expect(text).toContain(line);
  });
});

import { assert, constantFrom, integer, property, record } from "fast-check";
import { expect, test } from "vitest";
import { LossBaselines } from "./loss-baselines.ts";

const PAIRS = 28;
const START_MS = 1_700_000_000_000;
const MINUTE_S = 60;

function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Step {
  readonly lossRatio: number;
  /** Losses that late answers revoke. */
  readonly late?: number;
  readonly isCut?: boolean;
}

/** Packets as in the embedded cluster: two per second and direction, one observation per second. */
class World {
  readonly baselines = new LossBaselines();
  readonly #random: () => number;
  readonly #packets = {
    size: PAIRS,
    failed: new Float64Array(PAIRS),
    received: new Float64Array(PAIRS),
    cuts: new Uint8Array(PAIRS),
  };
  readonly #perSecond: number;
  seconds = 0;

  constructor(seed: number, perSecond = 4) {
    this.#random = randomOf(seed);
    this.#perSecond = perSecond;
  }

  get nowMs(): number {
    return START_MS + this.seconds * 1_000;
  }

  step(stepOf: (pair: number) => Step): void {
    const { failed, received, cuts } = this.#packets;
    this.seconds++;
    for (let pair = 0; pair < PAIRS; pair++) {
      const { lossRatio, late = 0, isCut = false } = stepOf(pair);
      let lost = 0;
      for (let packet = 0; packet < this.#perSecond; packet++) if (this.#random() < lossRatio) lost++;
      failed[pair] = lost - late;
      received[pair] = this.#perSecond - lost + late;
      cuts[pair] = isCut ? 1 : 0;
    }
    this.baselines.observe(this.#packets, this.nowMs);
  }

  /** Returns the first second in which exactly these pairs have departed; NaN: never. */
  run(seconds: number, stepOf: (pair: number) => Step, until: readonly number[] = [-1]): number {
    for (let second = 1; second <= seconds; second++) {
      this.step(stepOf);
      if (this.names().join() === until.join()) return second;
    }
    return Number.NaN;
  }

  names(): number[] {
    return this.baselines
      .departures()
      .map(({ series }) => series)
      .sort((a, b) => a - b);
  }
}

const seeds = integer({ min: 1, max: 2 ** 31 });
const lossy =
  (pair: number, lossRatio: number, usual = 0) =>
  (at: number) => ({
    lossRatio: at === pair ? lossRatio : usual,
  });

test("an hour at an even loss ratio has no departure", () =>
  assert(
    property(seeds, constantFrom(0, 0.0002, 0.001, 0.003, 0.01, 0.03), (seed, lossRatio) => {
      const world = new World(seed);
      for (let second = 0; second < 60 * MINUTE_S; second++) {
        world.step(() => ({ lossRatio }));
        if (world.names().length > 0) break;
      }
      expect(world.names()).toEqual([]);
      expect(world.baselines.common()).toBeNull();
    }),
    { numRuns: 12, seed: 7 },
  ));

test("a pair that begins to lose 5 % is named within a minute in 95 of 100 runs, and stays named", () => {
  let inTime = 0;
  for (let seed = 1; seed <= 100; seed++) {
    const world = new World(seed);
    world.run(5 * MINUTE_S, () => ({ lossRatio: 0 }));
    const changedMs = world.nowMs;
    const found = world.run(5 * MINUTE_S, lossy(3, 0.05), [3]);
    if (found <= MINUTE_S) inTime++;
    const [departure] = world.baselines.departures();
    expect(departure!.sinceMs).toBeGreaterThan(changedMs);
    expect(departure!.sinceMs).toBeLessThanOrEqual(world.nowMs);
    expect(departure!.before).toBeLessThan(0.005);
    for (let second = 0; second < 5 * MINUTE_S; second++) {
      world.step(lossy(3, 0.05));
      expect(world.names()).toEqual([3]);
    }
    expect(Math.abs(world.baselines.departures()[0]!.value - 0.05)).toBeLessThan(0.05);
  }
  expect(inTime).toBeGreaterThanOrEqual(95);
});

test("few packets take longer, and evidence adds up until it suffices", () =>
  assert(
    property(seeds, constantFrom(1, 2), constantFrom(0, 0.001), (seed, perSecond, usual) => {
      const world = new World(seed, perSecond);
      world.run(15 * MINUTE_S, () => ({ lossRatio: usual }));
      expect(world.run(10 * MINUTE_S, lossy(3, 0.05, usual), [3])).toBeGreaterThan(0);
    }),
    { numRuns: 20, seed: 7 },
  ));

test("a healed pair is let go within three minutes, and is named again when it loses again", () =>
  assert(
    property(record({ seed: seeds, lossRatio: constantFrom(0.05, 0.1, 0.3) }), ({ seed, lossRatio }) => {
      const world = new World(seed);
      world.run(5 * MINUTE_S, () => ({ lossRatio: 0 }));
      for (let round = 0; round < 3; round++) {
        expect(world.run(5 * MINUTE_S, lossy(3, lossRatio), [3])).toBeGreaterThan(0);
        world.run(2 * MINUTE_S, lossy(3, lossRatio));
        expect(world.run(3 * MINUTE_S, () => ({ lossRatio: 0 }), [])).toBeGreaterThan(0);
        world.run(MINUTE_S, () => ({ lossRatio: 0 }));
        expect(world.names()).toEqual([]);
      }
    }),
    { numRuns: 10, seed: 7 },
  ));

test("losses that late answers take back, bursts and cuts are no departure", () => {
  const world = new World(5);
  world.run(10 * MINUTE_S, () => ({ lossRatio: 0 }));
  for (let second = 0; second < 10 * MINUTE_S; second++) {
    const phase = second % 40;
    world.step((pair) => {
      // A responder that starves for two seconds answers everything two seconds later.
      if (pair === 1) return { lossRatio: phase < 2 ? 1 : 0, late: phase === 3 || phase === 4 ? 4 : 0 };
      if (pair === 2) return { lossRatio: phase < 20 ? 1 : 0, isCut: phase > 1 && phase < 22 };
      return { lossRatio: pair === 4 && second < 2 ? 1 : 0 };
    });
    expect(world.names()).toEqual([]);
  }
});

test("losses of most pairs at once are one common departure, and a pair far beyond it is named beside it", () => {
  const world = new World(11);
  world.run(5 * MINUTE_S, () => ({ lossRatio: 0 }));
  world.run(2 * MINUTE_S, (pair) => ({ lossRatio: pair === 3 ? 0.7 : 0.08 }));
  const common = world.baselines.common()!;
  expect(common.all).toBe(PAIRS);
  expect(common.series).toBeGreaterThan(PAIRS / 2);
  expect(world.names()).toEqual([3]);
  world.run(4 * MINUTE_S, () => ({ lossRatio: 0 }));
  expect(world.baselines.common()).toBeNull();
  expect(world.names()).toEqual([]);
});

test("after an hour the new ratio is the baseline, and a lower one becomes it within minutes", () => {
  const world = new World(3);
  world.run(10 * MINUTE_S, () => ({ lossRatio: 0 }));
  world.run(59 * MINUTE_S, lossy(5, 0.05));
  const [departure] = world.baselines.departures();
  expect(departure!.acceptedAtMs - departure!.sinceMs).toBeLessThanOrEqual(61 * 60_000);
  world.run(3 * MINUTE_S, lossy(5, 0.05));
  expect(world.names()).toEqual([]);
  world.run(10 * MINUTE_S, () => ({ lossRatio: 0 }));
  expect(world.run(3 * MINUTE_S, lossy(5, 0.05), [5])).toBeGreaterThan(0);
});

test("jumps of the clock make no departure and put none into the future", () => {
  for (const days of [-400, -1, 1, 400]) {
    const world = new World(9);
    world.run(10 * MINUTE_S, () => ({ lossRatio: 0.001 }));
    world.seconds += days * 86_400;
    world.run(10 * MINUTE_S, () => ({ lossRatio: 0.001 }));
    expect(world.names()).toEqual([]);
    expect(world.run(4 * MINUTE_S, lossy(5, 0.1), [5])).toBeGreaterThan(0);
    world.seconds += days * 86_400;
    world.step(lossy(5, 0.1));
    expect(world.baselines.departures()[0]!.sinceMs).toBeLessThanOrEqual(world.nowMs);
  }
});

test("a silent pair is closed, and a number that another pair got begins anew", () => {
  const world = new World(13);
  world.run(10 * MINUTE_S, () => ({ lossRatio: 0 }));
  world.run(3 * MINUTE_S, (pair) => ({ lossRatio: pair === 2 || pair === 4 ? 0.2 : 0 }));
  expect(world.names()).toEqual([2, 4]);
  world.baselines.forget(4);
  expect(world.names()).toEqual([2]);
  world.run(70, (pair) => ({ lossRatio: 0, isCut: pair === 2 }));
  expect(world.names()).toEqual([]);
});

import { assert, constantFrom, double, integer, property, record } from "fast-check";
import { expect, test } from "vitest";
import { Baselines, type Readings } from "./baselines.ts";

const RULE = { floor: 2, ratio: 0.75, releaseMs: 20_000 };
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const START_MS = 1_700_000_000_000;
const SERIES = 28;

function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Simulated series of 0.2 to 200 ms. Medians scatter by `noise`; bounds cover the truth. */
class World {
  readonly baselines = new Baselines(RULE);
  readonly levels: number[];
  readonly #random: () => number;
  readonly #noise: number;
  readonly #stepMs: number;
  nowMs = START_MS;

  constructor(seed: number, noise: number, stepMs: number) {
    this.#random = randomOf(seed);
    this.#noise = noise;
    this.#stepMs = stepMs;
    this.levels = Array.from({ length: SERIES }, () => 0.2 * 1000 ** this.#random());
  }

  run(
    forMs: number,
    change: (series: number, level: number, sinceMs: number) => number = (_, level) => level,
  ): { alone: number; common: number } {
    const most = { alone: 0, common: 0 };
    for (const endMs = this.nowMs + forMs, beganMs = this.nowMs; this.nowMs < endMs;) {
      this.nowMs += this.#stepMs;
      this.baselines.observe(
        this.#readings((series, level) => change(series, level, this.nowMs - beganMs)),
        this.nowMs,
      );
      most.alone = Math.max(most.alone, this.baselines.departures().length);
      most.common = Math.max(most.common, this.baselines.common() === null ? 0 : 1);
    }
    return most;
  }

  random(): number {
    return this.#random();
  }

  #readings(valueOf: (series: number, level: number) => number): Readings {
    const values = new Float32Array(SERIES);
    const [lows, highs] = [new Float32Array(SERIES), new Float32Array(SERIES)];
    for (let series = 0; series < SERIES; series++) {
      const truth = valueOf(series, this.levels[series]!);
      values[series] = truth * (1 + this.#noise * (2 * this.#random() - 1));
      lows[series] = values[series]! * (1 - this.#noise);
      highs[series] = values[series]! * (1 + this.#noise);
    }
    return { size: SERIES, values, lows, highs, sinceMs: new Float64Array(SERIES).fill(Number.NaN) };
  }
}

const worlds = record({
  seed: integer({ min: 1, max: 2 ** 31 }),
  noise: double({ min: 0, max: 0.3, noNaN: true }),
  stepMs: constantFrom(1_000, 5_000, 10_000),
});

test("an hour of quiet has no departure", () =>
  assert(
    property(worlds, ({ seed, noise, stepMs }) => {
      expect(new World(seed, noise, stepMs).run(HOUR_MS)).toEqual({ alone: 0, common: 0 });
    }),
    { numRuns: 30 },
  ));

test("a machine that slows every pair, again and again, departs in common at most", () =>
  assert(
    property(worlds, double({ min: 5, max: 50, noNaN: true }), ({ seed, noise, stepMs }, loadMs) => {
      const world = new World(seed, noise, stepMs);
      world.run(5 * MINUTE_MS);
      const { alone } = world.run(HOUR_MS, (_, level, sinceMs) => {
        const isBusy = Math.floor(sinceMs / (2 * MINUTE_MS)) % 2 === 0;
        return isBusy ? level + loadMs * (0.7 + 0.6 * world.random()) : level;
      });
      expect(alone).toBe(0);
    }),
    { numRuns: 30 },
  ));

test("load on all pairs at once is one common departure, and a pair far beyond it is named beside it", () => {
  const world = new World(7, 0.05, 1_000);
  world.run(5 * MINUTE_MS);
  const slow = (series: number, level: number) => level + (series === 3 ? 900 : 60);
  world.run(MINUTE_MS, slow);
  const common = world.baselines.common()!;
  expect(common.all).toBe(SERIES);
  expect(common.series).toBeGreaterThan(SERIES / 2);
  expect(world.baselines.departures().map(({ series }) => series)).toEqual([3]);
  world.run(MINUTE_MS);
  expect(world.baselines.common()).toBeNull();
  expect(world.baselines.departures()).toEqual([]);
});

test("each step of eight times and the floor is found within a minute, with its time, and ends after healing", () =>
  assert(
    property(
      worlds,
      record({
        series: integer({ min: 0, max: SERIES - 1 }),
        factor: double({ min: 8, max: 50, noNaN: true }),
      }),
      ({ seed, noise, stepMs }, { series, factor }) => {
        const world = new World(seed, noise, stepMs);
        world.run(10 * MINUTE_MS);
        const level = world.levels[series]!;
        // Bounds scatter with the values, so the floor must exceed both.
        const stepped = (factor * level + RULE.floor) * (1 + 2 * noise);
        const changedMs = world.nowMs;
        const change = (at: number, usual: number) => (at === series ? stepped : usual);
        expect(world.run(MINUTE_MS, change)).toEqual({ alone: 1, common: 0 });
        const [departure] = world.baselines.departures();
        expect(departure).toMatchObject({ series });
        expect(departure!.sinceMs - changedMs).toBeLessThanOrEqual(stepMs);
        // The baseline must neither follow the change nor decay within 15 minutes.
        world.run(15 * MINUTE_MS, change);
        const [later] = world.baselines.departures();
        expect(later!.sinceMs).toBe(departure!.sinceMs);
        expect(Math.abs(later!.before / level - 1)).toBeLessThanOrEqual(noise + 0.01);
        world.run(MINUTE_MS);
        expect(world.baselines.departures()).toEqual([]);
      },
    ),
    { numRuns: 30 },
  ));

test("a value around the threshold does not flap", () =>
  assert(
    property(integer({ min: 1, max: 2 ** 31 }), (seed) => {
      const world = new World(seed, 0.02, 1_000);
      world.levels.fill(10);
      world.run(10 * MINUTE_MS);
      let changes = 0;
      let isDeparted = false;
      for (let second = 0; second < 1_800; second++) {
        world.run(1_000, (series, level) =>
          series === 0 ? level + 7.7 + 2 * (world.random() - 0.5) : level,
        );
        const isNow = world.baselines.departures().length > 0;
        if (isNow !== isDeparted) changes++;
        isDeparted = isNow;
      }
      expect(changes).toBeLessThanOrEqual(1);
    }),
    { numRuns: 20 },
  ));

test("after an hour the new level is the baseline, as announced", () => {
  const world = new World(3, 0.02, 10_000);
  world.run(10 * MINUTE_MS);
  const change = (at: number, level: number) => (at === 5 ? 10 * level + 20 : level);
  world.run(30 * MINUTE_MS, change);
  const [departure] = world.baselines.departures();
  expect(departure!.acceptedAtMs - departure!.sinceMs).toBeLessThanOrEqual(HOUR_MS + MINUTE_MS);
  world.run(departure!.acceptedAtMs - world.nowMs + MINUTE_MS, change);
  expect(world.baselines.departures()).toEqual([]);
  expect(world.run(HOUR_MS, change)).toEqual({ alone: 0, common: 0 });
});

test("jumps of the clock make no departure, end none, and put none into the future", () =>
  assert(
    property(integer({ min: -400, max: 400 }), integer({ min: 1, max: 2 ** 31 }), (days, seed) => {
      const world = new World(seed, 0.05, 5_000);
      world.run(10 * MINUTE_MS);
      world.nowMs += days * 86_400_000;
      expect(world.run(10 * MINUTE_MS)).toEqual({ alone: 0, common: 0 });
      const change = (at: number, level: number) => (at === 5 ? 10 * level + 20 : level);
      world.run(MINUTE_MS, change);
      world.nowMs += days * 86_400_000;
      world.run(10_000, change);
      const [departure] = world.baselines.departures();
      expect(departure!.series).toBe(5);
      expect(departure!.sinceMs).toBeLessThanOrEqual(world.nowMs);
    }),
    { numRuns: 20 },
  ));

test("a series that fell silent is closed, and a number that another series got begins anew", () => {
  const world = new World(9, 0.02, 1_000);
  world.run(10 * MINUTE_MS);
  const slow = (at: number, level: number) => (at === 2 || at === 4 ? 10 * level + 50 : level);
  world.run(MINUTE_MS, slow);
  expect(world.baselines.departures()).toHaveLength(2);
  world.baselines.forget(4);
  world.run(25_000, (at, level) => (at === 2 ? Number.NaN : slow(at, level)));
  expect(world.baselines.departures()).toEqual([]);
  world.run(10 * MINUTE_MS, (at, level) => (at === 4 ? slow(at, level) : level));
  expect(world.baselines.departures()).toEqual([]);
});

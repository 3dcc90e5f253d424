import { seededRandom, type Periodic } from "@isochrone/runtime";
import { ManualClock } from "@isochrone/runtime/testing";
import { afterEach, expect, test } from "vitest";
import { planRefresh } from "./plan-refresh.ts";

const INTERVAL_MS = 10_000;
const running: Periodic[] = [];
afterEach(() => Promise.all(running.splice(0).map((refresh) => refresh.stop())));

function start(clock: ManualClock, seed: number, run: (signal: AbortSignal) => Promise<number>): Periodic {
  const refresh = planRefresh({
    clock,
    random: seededRandom(seed),
    intervalMs: INTERVAL_MS,
    run,
    onError: (error) => expect.unreachable(String(error)),
  });
  running.push(refresh);
  refresh.start();
  return refresh;
}

test("comes back at about the interval, each time at another moment of it", async () => {
  const clock = new ManualClock();
  const times: number[] = [];
  start(clock, 1, async () => times.push(clock.monotonic()) * 0);
  await clock.advance(1_000_000);
  const gaps = times.slice(1).map((time, i) => time - times[i]!);
  expect(times[0]).toBeLessThan(1000);
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(8000);
  expect(Math.max(...gaps)).toBeLessThanOrEqual(12_000);
  expect(Math.max(...gaps) - Math.min(...gaps)).toBeGreaterThan(2000);
});

test("a thousand probes that start together don't ask together for long", async () => {
  const clock = new ManualClock();
  const perSecond = new Map<number, number>();
  for (let seed = 0; seed < 1000; seed++) {
    start(clock, seed, async () => {
      const second = Math.floor(clock.monotonic() / 1000);
      perSecond.set(second, (perSecond.get(second) ?? 0) + 1);
      return 0;
    });
  }
  await clock.advance(120_000);
  const later = [...perSecond].filter(([second]) => second >= 60 && second < 120).map(([, count]) => count);
  expect(later).toHaveLength(60);
  // 100 per second on average; synchronized probes would send 1000 in one second of ten.
  expect(Math.max(...later)).toBeLessThan(250);
});

test("leaves a busy source alone for as long as it wants", async () => {
  const clock = new ManualClock();
  const times: number[] = [];
  start(clock, 3, async () => (times.push(clock.monotonic()) === 1 ? 60_000 : 0));
  await clock.advance(100_000);
  expect(times[1]! - times[0]!).toBeGreaterThanOrEqual(60_000);
  expect(times[1]! - times[0]!).toBeLessThanOrEqual(62_000);
  expect(times[2]! - times[1]!).toBeLessThanOrEqual(12_000);
});

test("can be asked for at once, and ends in the middle of a refresh", async () => {
  const clock = new ManualClock();
  let runs = 0;
  let aborted = false;
  const refresh = start(clock, 4, (signal) => {
    runs++;
    return new Promise((resolve) => {
      if (runs === 1) resolve(0);
      signal.addEventListener("abort", () => {
        aborted = true;
        resolve(0);
      });
    });
  });
  await clock.advance(1000);
  expect(runs).toBe(1);
  refresh.trigger();
  await clock.advance(0);
  expect(runs).toBe(2);
  await refresh.stop();
  expect(aborted).toBe(true);
  refresh.start();
  await clock.advance(INTERVAL_MS * 2);
  expect(runs).toBe(2);
});

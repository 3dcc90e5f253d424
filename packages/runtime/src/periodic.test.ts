import { expect, test } from "vitest";
import { periodic } from "./periodic.ts";
import type { PeriodicOptions } from "./periodic.ts";
import { ManualClock } from "./testing/index.ts";

function build(options: Partial<PeriodicOptions> = {}) {
  const clock = new ManualClock();
  const runs: number[] = [];
  const errors: unknown[] = [];
  const run = (): void => void runs.push(clock.monotonic());
  const onError = (error: unknown): void => void errors.push(error);
  const work = periodic({ clock, intervalMs: 100, run, onError, ...options });
  return { clock, runs, errors, work };
}

test("runs come at the interval, the first after one", async () => {
  const { clock, runs, work } = build();
  work.start();
  work.start();
  await clock.advance(350);
  await work.stop();
  expect(runs).toEqual([100, 200, 300]);
});

test("the first run comes at once when asked", async () => {
  const { clock, runs, work } = build({ immediate: true });
  work.start();
  await clock.advance(100);
  await work.stop();
  expect(runs).toEqual([0, 100]);
});

test("a run that takes longer than the interval never overlaps and skips what it missed", async () => {
  let active = 0;
  let most = 0;
  const starts: number[] = [];
  const { clock, work } = build({
    run: async () => {
      starts.push(clock.monotonic());
      most = Math.max(most, ++active);
      await clock.sleep(250);
      active--;
    },
  });
  work.start();
  await clock.advance(1000);
  expect(most).toBe(1);
  expect(starts).toEqual([100, 400, 700, 1000]);
  const stopped = work.stop();
  await clock.advance(250);
  await stopped;
});

test("triggers during a run give one more run, and the rhythm stays", async () => {
  const starts: number[] = [];
  const { clock, work } = build({
    run: async () => {
      starts.push(clock.monotonic());
      await clock.sleep(20);
    },
  });
  work.start();
  await clock.advance(30);
  work.trigger();
  await clock.advance(5);
  for (let i = 0; i < 9; i++) work.trigger();
  await clock.advance(100);
  expect(starts).toEqual([30, 50, 100]);
  await work.stop();
});

test("stop aborts the run in flight and waits for its end", async () => {
  let ended = false;
  const { clock, errors, work } = build({
    run: async (signal) => {
      await clock.sleep(60_000, signal).finally(() => (ended = true));
    },
  });
  work.start();
  await clock.advance(100);
  await work.stop();
  expect(ended).toBe(true);
  expect(errors).toEqual([]);
});

test("an error is reported and the next run comes, also one that comes while stopping", async () => {
  let count = 0;
  const { clock, errors, work } = build({
    run: async (signal) => {
      if (++count === 1) throw new Error("first");
      await clock.sleep(60_000, signal).catch(() => {
        throw new Error("flush failed");
      });
    },
  });
  work.start();
  await clock.advance(200);
  await work.stop();
  expect(errors.map((error) => (error as Error).message)).toEqual(["first", "flush failed"]);
});

test("nothing runs before start or after stop", async () => {
  const { clock, runs, work } = build();
  work.trigger();
  await clock.advance(500);
  await work.stop();
  work.start();
  work.trigger();
  await clock.advance(500);
  expect(runs).toEqual([]);
  expect(clock.pending).toBe(0);
});

test("an interval that is not above 0 is refused", () => {
  expect(() => build({ intervalMs: 0 })).toThrow("intervalMs must be above 0, got 0");
  expect(() => build({ intervalMs: Number.NaN })).toThrow(RangeError);
});

test("a function gives the pause from the end of a run, anew each time", async () => {
  const pauses = [50, 200, 10, 1_000];
  const starts: number[] = [];
  const { clock, work } = build({
    intervalMs: () => pauses.shift()!,
    run: async () => {
      starts.push(clock.monotonic());
      await clock.sleep(5);
    },
  });
  work.start();
  await clock.advance(500);
  expect(starts).toEqual([50, 255, 270]);
  await work.stop();
});

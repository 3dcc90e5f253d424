import { expect, test } from "vitest";
import { pause } from "./pause.ts";
import { ManualClock } from "./testing/index.ts";

test("a pause ends after its time", async () => {
  const clock = new ManualClock();
  let over = false;
  void pause(clock, 100, new AbortController().signal).then(() => (over = true));
  await clock.advance(99);
  expect(over).toBe(false);
  await clock.advance(1);
  expect(over).toBe(true);
});

test("an abort ends a pause early, without an error and without a timer left behind", async () => {
  const clock = new ManualClock();
  const stop = new AbortController();
  const paused = pause(clock, 100, stop.signal);
  stop.abort(new Error("stopping"));
  await paused;
  await pause(clock, 100, stop.signal);
  expect(clock.pending).toBe(0);
});

test("a clock that fails by itself is heard", async () => {
  class BrokenClock extends ManualClock {
    override sleep(): Promise<void> {
      return Promise.reject(new Error("no timers left"));
    }
  }
  const paused = pause(new BrokenClock(), 100, new AbortController().signal);
  await expect(paused).rejects.toThrow("no timers left");
});

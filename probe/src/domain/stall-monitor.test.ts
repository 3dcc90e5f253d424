import { expect, test } from "vitest";
import { StallMonitor } from "./stall-monitor.ts";

const BOUND_MS = 20;
const BEAT_MS = 8;

test("a thread that beats in time was never stalled", () => {
  const monitor = new StallMonitor(BOUND_MS, BEAT_MS, 0);
  for (let ms = BEAT_MS; ms < 100; ms += BEAT_MS) {
    monitor.beat(ms);
    expect(monitor.stalledForMs(ms + BEAT_MS)).toBe(0);
  }
  expect(monitor.take().stalls).toBe(0);
});

test("who asks during a stall hears of it before the beat comes", () => {
  const monitor = new StallMonitor(BOUND_MS, BEAT_MS, 0);
  expect(monitor.stalledForMs(20)).toBe(0);
  expect(monitor.stalledForMs(21)).toBe(21);
});

test("what is read right after a stall is the stall's; a little later it is not", () => {
  const monitor = new StallMonitor(BOUND_MS, BEAT_MS, 0);
  monitor.beat(50);
  expect(monitor.stalledForMs(51)).toBe(50);
  expect(monitor.stalledForMs(53)).toBe(0);
  monitor.beat(58);
  expect(monitor.take().stalls).toBe(1);
  expect(monitor.take().stalls).toBe(0);
});

test("the delay of every beat is kept", () => {
  const monitor = new StallMonitor(BOUND_MS, BEAT_MS, 0);
  monitor.beat(8);
  monitor.beat(19);
  const { loopDelay } = monitor.take();
  expect(loopDelay).toMatchObject({ count: 2, min: 0, max: 0.003 });
});

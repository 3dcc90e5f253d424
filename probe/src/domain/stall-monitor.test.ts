import { describe, expect, test } from "vitest";
import { StallMonitor } from "./stall-monitor.ts";

const BOUND_MS = 20;
const BEAT_MS = 8;

test("a thread that beats in time was never stalled", () => {
  const monitor = new StallMonitor(BOUND_MS, BEAT_MS, 0);
  for (let ms = BEAT_MS; ms < 100; ms += BEAT_MS) {
    monitor.beat(ms);
    expect(monitor.stalledForMs(ms + BEAT_MS)).toBe(0);
  }
  expect(monitor.drain().stalls).toBe(0);
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
  expect(monitor.drain().stalls).toBe(1);
  expect(monitor.drain().stalls).toBe(0);
});

test("the delay of every beat is kept", () => {
  const monitor = new StallMonitor(BOUND_MS, BEAT_MS, 0);
  monitor.beat(8);
  monitor.beat(19);
  const { loopDelay } = monitor.drain();
  expect(loopDelay).toMatchObject({ count: 2, min: 0, max: 0.003 });
});

describe("a thread that blocks until a packet comes or something is due", () => {
  test("isn't stalled while it is blocked, nor when a packet wakes it early", () => {
    const monitor = new StallMonitor(BOUND_MS, 0, 0);
    monitor.rest(100);
    expect(monitor.stalledForMs(99)).toBe(0);
    monitor.beat(60);
    expect(monitor.stalledForMs(60)).toBe(0);
    monitor.rest(200);
    monitor.beat(200.5);
    const { stalls, loopDelay } = monitor.drain();
    expect({ stalls, max: loopDelay.max }).toEqual({ stalls: 0, max: 0.0005 });
  });

  test("is stalled when it wakes much later than it wanted to, or works for so long", () => {
    const monitor = new StallMonitor(BOUND_MS, 0, 0);
    monitor.rest(10);
    expect(monitor.stalledForMs(45)).toBe(35);
    monitor.beat(45);
    expect(monitor.stalledForMs(46)).toBe(35);
    monitor.beat(50);
    monitor.beat(90);
    expect(monitor.drain()).toMatchObject({ stalls: 2, loopDelay: { max: 0.04 } });
  });

  test("keeps the worst delay of each eight milliseconds, however often it shows up", () => {
    const monitor = new StallMonitor(BOUND_MS, 0, 0);
    for (let ms = 1; ms <= 80; ms++) monitor.beat(ms + (ms === 41 ? 0.5 : 0));
    expect(monitor.drain().loopDelay).toMatchObject({ count: 10, max: 0.0015 });
  });
});

import { describe, expect, test } from "vitest";
import { manualContext } from "../testing/harness.ts";
import type { EngineContext } from "./context.ts";
import { SendSchedule } from "./send-schedule.ts";
import { Timetable } from "./timetable.ts";

class FakeTime {
  nowMs = 0;
  errors: unknown[] = [];
  #timer: { readonly atMs: number; readonly run: () => void } | null = null;
  readonly timetable = new Timetable({
    monotonic: () => this.nowMs,
    setTimer: (run, delayMs) => {
      const timer = { atMs: this.nowMs + delayMs, run };
      this.#timer = timer;
      return () => {
        if (this.#timer === timer) this.#timer = null;
      };
    },
    onError: (error) => this.errors.push(error),
  });

  advance(ms: number, oversleep = false): void {
    const targetMs = this.nowMs + ms;
    if (oversleep) this.nowMs = targetMs;
    while (this.#timer !== null && this.#timer.atMs <= targetMs) {
      const { atMs, run } = this.#timer;
      this.#timer = null;
      this.nowMs = Math.max(this.nowMs, atMs);
      run();
    }
    this.nowMs = targetMs;
  }
}

describe("timetable", () => {
  test("runs tasks in the order of their times, ties in the order of their making", () => {
    const time = new FakeTime();
    const ran: string[] = [];
    for (const [name, atMs] of [
      ["d", 30],
      ["a", 10],
      ["c", 20.5],
      ["b", 10],
      ["e", 40],
    ] as const) {
      time.timetable.at(atMs, () => ran.push(name));
    }
    time.advance(30);
    expect(ran).toEqual(["a", "b", "c", "d"]);
    time.advance(10);
    expect(ran).toEqual(["a", "b", "c", "d", "e"]);
  });

  test("never runs a task before its time, though timers count whole milliseconds", () => {
    const time = new FakeTime();
    const ranAt: number[] = [];
    for (const atMs of [0.3, 1.7, 1.70001, 2.2]) time.timetable.at(atMs, () => ranAt.push(time.nowMs - atMs));
    time.advance(10);
    expect(ranAt).toHaveLength(4);
    expect(Math.min(...ranAt)).toBeGreaterThanOrEqual(0);
  });

  test("a task that was called off doesn't run, and one that throws stops no other", () => {
    const time = new FakeTime();
    const ran: string[] = [];
    time.timetable.at(1, () => {
      throw new Error("broken");
    });
    time.timetable.at(2, () => ran.push("cancelled")).cancel();
    time.timetable.at(3, () => ran.push("last"));
    time.advance(5);
    expect({ ran, errors: time.errors.length }).toEqual({ ran: ["last"], errors: 1 });
  });

  test("keeps the order of a thousand tasks at random times", () => {
    const time = new FakeTime();
    const ran: number[] = [];
    for (let i = 0; i < 1000; i++) {
      const atMs = (i * 7919) % 1009;
      time.timetable.at(atMs, () => ran.push(atMs));
    }
    time.advance(2000);
    expect(ran).toEqual(ran.toSorted((a, b) => a - b));
    expect(ran).toHaveLength(1000);
  });
});

describe("send schedule", () => {
  function schedule(
    random: number,
    intervalMs = 100,
  ): {
    time: FakeTime;
    context: EngineContext;
    log: string[];
    sends: number[];
    pace: { factor: number };
  } {
    const time = new FakeTime();
    const log: string[] = [];
    const sends: number[] = [];
    const pace = { factor: 1 };
    const context = {
      ...manualContext({ intervalMs }),
      timetable: time.timetable,
      monotonic: () => time.nowMs,
      random: () => random,
      pace,
    };
    new SendSchedule(context, {
      prepare: () => log.push(`prepare ${time.nowMs}`),
      send: (plannedMs) => {
        log.push(`send ${time.nowMs}`);
        sends.push(plannedMs);
      },
      missed: (ticks) => log.push(`missed ${ticks}`),
    }).start();
    return { time, context, log, sends, pace };
  }

  test("begins at a random phase, keeps the grid, and prepares ahead of each send", () => {
    const { time, log } = schedule(0.25);
    time.advance(300);
    expect(log).toEqual(["prepare 22", "send 25", "prepare 122", "send 125", "prepare 222", "send 225"]);
  });

  test("an ordinary interval's sends are on ticks, and prepared with the tick before", () => {
    const { time, log } = schedule(0.26, 1000);
    time.advance(1300);
    expect(log).toEqual(["prepare 200", "send 300", "prepare 1200", "send 1300"]);
  });

  test("a slower pace takes effect with the send after the next, and the first pace comes back", () => {
    const { time, pace, sends } = schedule(0);
    time.advance(150);
    pace.factor = 4;
    time.advance(500);
    expect(sends).toEqual([0, 100, 200, 600]);
    pace.factor = 1;
    time.advance(500);
    expect(sends.slice(4)).toEqual([1_000, 1_100]);
  });

  test("a late send doesn't move the grid, and its lateness is recorded", () => {
    const { time, context, sends } = schedule(0);
    time.advance(0);
    time.advance(130, true);
    time.advance(170);
    expect(sends).toEqual([0, 100, 200, 300]);
    expect(context.lateness.current.max).toBeCloseTo(0.03, 9);
  });

  test("sends missed while the thread stood still are counted, not made up for", () => {
    const { time, log, sends } = schedule(0);
    time.advance(0);
    time.advance(450, true);
    time.advance(100);
    expect(sends).toEqual([0, 100, 500]);
    expect(log.filter((line) => line.startsWith("missed"))).toEqual(["missed 3"]);
  });
});

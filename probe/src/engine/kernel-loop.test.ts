import { isLibcSupported } from "@isochrone/kernel-sockets";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { LOOP_KINDS, openLoop, until } from "../testing/harness.ts";
import type { Loop } from "./loop.ts";

const BOUND_MS = 40;

function blockFor(ms: number): void {
  for (const endMs = performance.now() + ms; performance.now() < endMs;);
}

describe.each(LOOP_KINDS)("the %s loop", (kind) => {
  let loop: Loop;

  beforeEach(() => {
    loop = openLoop(kind);
  });

  afterEach(() => loop.close());

  test("runs timed work in order and not before its time", async () => {
    const ran: string[] = [];
    let early = 0;
    const startMs = performance.now();
    for (const [name, inMs] of [
      ["c", 30],
      ["a", 3.3],
      ["b", 11],
    ] as const) {
      loop.timetable.at(startMs + inMs, () => {
        if (performance.now() < startMs + inMs) early++;
        ran.push(name);
      });
    }
    await until("all", () => ran.length === 3);
    expect({ ran: ran.join(""), early }).toEqual({ ran: "abc", early: 0 });
  });

  test("what is to run after the poll runs, also when it asks for more", async () => {
    const ran: number[] = [];
    loop.timetable.at(performance.now(), () =>
      loop.afterPoll(() => {
        ran.push(1);
        loop.afterPoll(() => ran.push(2));
      }),
    );
    await until("both", () => ran.length === 2);
    expect(ran).toEqual([1, 2]);
  });

  test("stops, and goes on where it was when it is started again", async () => {
    let ran = 0;
    loop.stop();
    loop.timetable.at(performance.now() + 5, () => ran++);
    loop.start();
    await until("the task", () => ran > 0);
    expect(ran).toBe(1);
  });

  test("a thread that stands still is stalled, for as long as it lasts and a little beyond", async () => {
    const monitor = loop.watch(BOUND_MS);
    let during = 0;
    loop.timetable.at(performance.now() + 5, () => {
      blockFor(3 * BOUND_MS);
      during = monitor.stalledForMs(performance.now());
    });
    await until("the stall", () => during > 0);
    expect(during).toBeGreaterThan(2 * BOUND_MS);
    await until("it to be over", () => monitor.stalledForMs(performance.now()) === 0);
    expect(monitor.drain().stalls).toBeGreaterThanOrEqual(1);
    loop.unwatch(monitor);
  });
});

test.runIf(isLibcSupported())(
  "a loop that waits for packets isn't stalled, however long it waits",
  async () => {
    const { KernelLoop } = await import("./kernel-loop.ts");
    const { loadLibc } = await import("@isochrone/kernel-sockets");
    const errors: unknown[] = [];
    const loop = new KernelLoop({
      libc: await loadLibc(),
      monotonic: () => performance.now(),
      onError: (error) => void errors.push(error),
      turnMs: 400,
      yieldToNode: (run) => void setImmediate(run),
    });
    const monitor = loop.watch(10);
    let turns = 0;
    const count = (): void => {
      turns++;
      loop.timetable.at(performance.now() + 350, count);
    };
    loop.timetable.at(performance.now() + 350, count);
    loop.start();
    await until("the turns", () => turns === 2);
    const { loopDelay } = monitor.drain();
    expect(loopDelay.count).toBeGreaterThan(0);
    expect(loopDelay.max).toBeLessThan(0.3);
    loop.close();
    expect(errors).toEqual([]);
  },
);

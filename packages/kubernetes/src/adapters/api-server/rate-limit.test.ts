import { ManualClock } from "@isochrone/runtime/testing";
import { expect, it } from "vitest";

import { RateLimit } from "./rate-limit.ts";

it("lets a burst pass at once and the rest at the rate, in order, and refills when it is quiet", async () => {
  const clock = new ManualClock();
  const limit = new RateLimit(clock, 10, 3);
  const passed: [number, number][] = [];
  const { signal } = new AbortController();
  const startMs = clock.monotonic();
  const ask = async (index: number): Promise<void> => {
    await limit.pass(signal);
    passed.push([index, clock.monotonic() - startMs]);
  };
  const all = Array.from({ length: 5 }, (_, i) => ask(i));
  await clock.advance(1_000);
  await Promise.all(all);
  expect(passed).toEqual([
    [0, 0],
    [1, 0],
    [2, 0],
    [3, 100],
    [4, 200],
  ]);
  expect(await Promise.all([limit.pass(signal), limit.pass(signal), limit.pass(signal)])).toEqual([0, 0, 0]);
});

it("ends a wait with its signal", async () => {
  const clock = new ManualClock();
  const limit = new RateLimit(clock, 1, 1);
  const end = new AbortController();
  await limit.pass(end.signal);
  const waiting = limit.pass(end.signal);
  end.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
});

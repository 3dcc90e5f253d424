import { expect, test } from "vitest";
import { Schedule } from "./schedule.ts";

const taken = (schedule: Schedule, count: number): number[] =>
  Array.from({ length: count }, () => schedule.take());

test("requests are due at the phases of each period", () => {
  const schedule = new Schedule({ phasesMs: [10, 40], periodMs: 100 }, 1_000);
  expect(taken(schedule, 5)).toEqual([1_010, 1_040, 1_110, 1_140, 1_210]);
});

test("a slower pace stretches what follows the next request, and the first pace comes back", () => {
  const schedule = new Schedule({ phasesMs: [0], periodMs: 100 }, 0);
  expect(taken(schedule, 3)).toEqual([0, 100, 200]);
  schedule.setPace(4);
  expect(taken(schedule, 3)).toEqual([300, 700, 1_100]);
  schedule.setPace(1);
  expect(taken(schedule, 3)).toEqual([1_500, 1_600, 1_700]);
});

test("a pace that changes in the middle of a round neither repeats nor skips the next request", () => {
  const schedule = new Schedule({ phasesMs: [10, 40], periodMs: 100 }, 0);
  expect(taken(schedule, 1)).toEqual([10]);
  schedule.setPace(2);
  expect(taken(schedule, 3)).toEqual([40, 100, 240]);
});

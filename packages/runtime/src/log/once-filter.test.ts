import { expect, test } from "vitest";
import { ManualClock } from "../testing/index.ts";
import { OnceFilter } from "./once-filter.ts";

test("the number of keys is bounded: the one written longest ago is forgotten", () => {
  const filter = new OnceFilter({ clock: new ManualClock(), maxKeys: 2 });
  filter.pass("a");
  filter.pass("b");
  filter.pass("c");
  expect(filter.pass("c")).toBeNull();
  expect(filter.pass("b")).toBeNull();
  expect(filter.pass("a")).toEqual({ suppressed: 0 });
});

test("a key that was written again is younger than one that was not", async () => {
  const clock = new ManualClock();
  const filter = new OnceFilter({ clock, maxKeys: 2, intervalMs: 10 });
  filter.pass("a");
  filter.pass("b");
  await clock.advance(10);
  filter.pass("a");
  filter.pass("c");
  expect(filter.pass("a")).toBeNull();
  expect(filter.pass("b")).not.toBeNull();
});

import { expect, test } from "vitest";
import { OTHERS, RecentRefusals } from "./recent-refusals.ts";

const recent = (): RecentRefusals => new RecentRefusals({ windowMs: 30_000, paneMs: 2_000 });

test("tells who is refused now, for what and how often, the most first", () => {
  const refusals = recent();
  refusals.add("node/a", "future", 0);
  for (let at = 1_000; at < 6_000; at += 1_000) refusals.add("node/b", "malformed", at);
  refusals.add("node/a", "future", 3_000);
  expect(refusals.list(6_000)).toEqual([
    { source: "node/b", reason: "malformed", refused: 5 },
    { source: "node/a", reason: "future", refused: 2 },
  ]);
});

test("forgets with the window what was refused", () => {
  const refusals = recent();
  refusals.add("node/a", "future", 0);
  refusals.add("node/a", "future", 4_000);
  expect(refusals.list(29_999)).toEqual([{ source: "node/a", reason: "future", refused: 2 }]);
  expect(refusals.list(31_000)).toEqual([{ source: "node/a", reason: "future", refused: 1 }]);
  expect(refusals.list(34_000)).toEqual([]);
});

test("keeps a bounded number of sources, and those that it knows go on to be counted", () => {
  const refusals = recent();
  for (let index = 0; index < 10_000; index++) refusals.add(`node/${index}`, "unproven", 0);
  for (let times = 0; times < 5; times++) refusals.add("node/7", "unproven", 0);
  const listed = refusals.list(0);
  expect(listed).toHaveLength(20);
  expect(listed.slice(0, 2)).toEqual([
    { source: OTHERS, reason: "unproven", refused: 9_800 },
    { source: "node/7", reason: "unproven", refused: 6 },
  ]);
});

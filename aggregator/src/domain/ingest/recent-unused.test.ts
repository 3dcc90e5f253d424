import { expect, test } from "vitest";
import { createIngestCounts } from "./ingest-counts.ts";

const WINDOW_MS = 30_000;
const PANE_MS = 1_000;

function rig() {
  const counts = createIngestCounts();
  const leaveOut = (points: number, nowMs: number): void => {
    counts.unused.other_cluster += points;
    counts.unusedExamples.other_cluster = "istio_requests_total";
    counts.recentUnused.note(nowMs, WINDOW_MS, PANE_MS);
  };
  const left = (nowMs: number): number[] => counts.recentUnused.list(nowMs).map(({ points }) => points);
  return { counts, leaveOut, left };
}

test("tells what was left out in the last window, the most first, with a metric of it", () => {
  const { counts, leaveOut } = rig();
  leaveOut(3, 1_000);
  counts.unused.unattributed = 5;
  expect(counts.recentUnused.list(1_500)).toEqual([
    { reason: "unattributed", points: 5, example: "" },
    { reason: "other_cluster", points: 3, example: "istio_requests_total" },
  ]);
});

test("what is older than the window is forgotten, even where nothing came since", () => {
  const { leaveOut, left } = rig();
  for (let nowMs = 0; nowMs <= 60_000; nowMs += 500) leaveOut(1, nowMs);
  // One point per half second; readings are a pane apart.
  expect(left(60_000)[0]).toBeGreaterThanOrEqual(58);
  expect(left(60_000)[0]).toBeLessThanOrEqual(62);
  expect(left(60_000 + 2 * WINDOW_MS)).toEqual([]);
});

test("a clock that is set back begins again", () => {
  const { leaveOut, left } = rig();
  leaveOut(10, 100_000);
  leaveOut(1, 50_000);
  expect(left(50_500)).toEqual([11]);
  leaveOut(2, 50_000 + WINDOW_MS);
  expect(left(50_000 + WINDOW_MS)).toEqual([2]);
});

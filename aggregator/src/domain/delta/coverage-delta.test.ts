import { seededRandom } from "@isochrone/runtime";
import { expect, test } from "vitest";
import { Coverage } from "../windows/coverage.ts";
import { applyCover, CoverageDelta } from "./coverage-delta.ts";

const WINDOW_MS = 100;
const SHAPE = { windowMs: WINDOW_MS, paneMs: 10, panes: 10, fastPanes: 3 };

test.each(Array.from({ length: 200 }, (_, seed) => seed + 1))(
  "extending at once and by deltas is the same, whatever is silent how long (seed %i)",
  (seed) => {
    const random = seededRandom(seed);
    const direct = new Coverage();
    const byDelta = new Coverage();
    let delta = new CoverageDelta(WINDOW_MS);
    let atMs = 10_000;
    for (let i = 0; i < 60; i++) {
      atMs += Math.floor(random.next() * (random.next() < 0.1 ? 250 : 30));
      const fromMs = atMs - Math.floor(random.next() * 120);
      direct.extend(fromMs, atMs, WINDOW_MS);
      delta.extend(fromMs, atMs);
      if (random.next() < 0.7) continue;
      applyCover(byDelta, delta.times(), WINDOW_MS);
      delta = new CoverageDelta(WINDOW_MS);
      expect(byDelta.newestMs).toBe(direct.newestMs);
      expect(byDelta.seconds(SHAPE, atMs, 10)).toBe(direct.seconds(SHAPE, atMs, 10));
    }
    expect(direct.newestMs).toBeGreaterThan(10_000);
  },
);

test("a source that claims to be as old as the world gives times that can be sent", () => {
  const delta = new CoverageDelta(WINDOW_MS);
  delta.extend(-1e15, 20_000);
  expect(delta.times()).toEqual([{ fromMs: 1, toMs: 20_000 }]);
});

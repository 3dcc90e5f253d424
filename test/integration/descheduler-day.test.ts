// Hours of drifting latencies and traffic, by the code that runs in a cluster, through the same ports. The
// whole day, on measured matrices too, is the benchmark placement/descheduler-day.
import { describe, expect, test } from "vitest";
import { day, HOUR_MS } from "../harness/descheduler/drift.ts";
import { hastyMoves, simulate, undoneMoves } from "../harness/descheduler/simulate.ts";

const HOURS = 6;
/** Five minutes a step: a tenth of the work of the real interval, with rounds and rests to match. */
const STEP_MS = 300_000;
const COOL_DOWN_MS = 30 * 60_000;

describe("a part of a day", () => {
  test.each([
    // A zone is in trouble for three hours, and is left alone afterwards; 1.04 was seen.
    [1, 1.15],
    // Nearly everything must leave a zone, and five-minute steps make that take most of an hour; 1.13 was
    // seen, and left alone 2.96.
    [3, 1.25],
  ])(
    "costs little more than planning anew at each step, with a fraction of its moves: seed %i",
    async (seed, maxCost) => {
      const found = await simulate({
        day: day(seed, [], HOURS),
        hours: HOURS,
        mode: "evict",
        stepMs: STEP_MS,
        settings: { rounds: 1, coolDownMs: COOL_DOWN_MS },
      });
      expect(found.moves.length).toBeGreaterThan(0);
      expect(found.cost).toBeLessThan(found.idleCost);
      expect(found.cost / found.replanCost).toBeLessThanOrEqual(maxCost);
      expect(found.moves.length).toBeLessThanOrEqual(found.replanMoves / 5);
      expect(hastyMoves(found.moves, COOL_DOWN_MS)).toEqual([]);
      expect(undoneMoves(found.moves, HOUR_MS)).toEqual([]);
      expect(found.oneZoneShare).toBe(0);
    },
  );
});

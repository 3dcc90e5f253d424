import { seededRandom } from "@isochrone/runtime";
import { describe, expect, test } from "vitest";
import { FairBudget } from "./fair-budget.ts";

const PER_SECOND = 100_000;

const LEARN_MS = 3_000;
const MEASURED_MS = 4_000;

/** Shares admitted of a flood that always precedes the step's one honest arrival. */
function shares(floodPerSecond: number, everyMs = 1) {
  const random = seededRandom(7);
  const budget = new FairBudget(PER_SECOND, PER_SECOND / 10, () => random.next(), 0);
  const counts = { flood: 0, honest: 0, all: 0, steps: 0 };
  for (let ms = everyMs; ms <= LEARN_MS + MEASURED_MS; ms += everyMs) {
    const counted = ms > LEARN_MS ? 1 : 0;
    for (let i = 0; i < (floodPerSecond / 1000) * everyMs; i++) {
      counts.all += counted;
      if (budget.take(ms)) counts.flood += counted;
    }
    counts.steps += counted;
    if (budget.take(ms)) counts.honest += counted;
  }
  const { flood, honest, all, steps } = counts;
  return { honest: honest / steps, flood: flood / all, perSecond: (flood / MEASURED_MS) * 1000 };
}

describe("a fair budget", () => {
  test("within its rate everybody gets in, also behind bursts of a tenth of a second", () => {
    expect(shares(50_000).honest).toBe(1);
    expect(shares(50_000, 100).honest).toBe(1);
  });

  test.each([200_000, 500_000, 1_000_000])(
    "at %d arrivals a second who comes last has the same chance as the flood, and the budget is kept",
    (flood) => {
      const { honest, flood: share, perSecond } = shares(flood);
      expect(Math.abs(honest - share)).toBeLessThan(0.25 * share);
      expect(perSecond).toBeLessThanOrEqual(PER_SECOND * 1.05);
    },
  );

  test("a flood that ends is forgotten", () => {
    const budget = new FairBudget(10, 10, () => 0.999, 0);
    for (let i = 0; i < 10_000; i++) budget.take(1);
    expect(budget.take(2)).toBe(false);
    expect(budget.take(60_000)).toBe(true);
  });
});

import { seededRandom } from "@isochrone/runtime";
import { expect, test } from "vitest";
import { lossRatio } from "./loss.ts";
import { noOutcomes } from "./tally.ts";

const ratioOf = (outcomes: Partial<ReturnType<typeof noOutcomes>>): number | null =>
  lossRatio({ ...noOutcomes(), ...outcomes });

test("late answers take their losses back, and never more than there are", () => {
  const random = seededRandom(1);
  const upTo = (most: number): number => Math.floor(random.next() * (most + 1));
  for (let run = 0; run < 500; run++) {
    const [received, lost, late, unsent] = [1 + upTo(50), upTo(50), upTo(50), upTo(5)];
    const ratio = ratioOf({ received, lost, late, send_error: unsent })!;
    expect(ratio).toBeGreaterThanOrEqual(0);
    expect(ratio).toBeLessThanOrEqual(ratioOf({ received, lost, send_error: unsent })!);
    expect(ratio === 0 || late < lost || unsent > 0).toBe(true);
  }
});

test("a peer that answers nothing in time loses everything, late answers or not", () => {
  expect(ratioOf({ lost: 4, late: 4 })).toBe(1);
  expect(ratioOf({ send_error: 3 })).toBe(1);
  expect(ratioOf({ late: 2 })).toBeNull();
  expect(ratioOf({})).toBeNull();
});

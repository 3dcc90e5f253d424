import { expect, test } from "vitest";
import { TimeBudget } from "./time-budget.ts";

test("answers take 40 ms in a row, and then half of the time", () => {
  const budget = new TimeBudget();
  let atMs = 1_000;
  const answers = (ms: number): number => {
    let count = 0;
    while (budget.isLeft(atMs)) {
      budget.spend(ms);
      atMs += ms;
      count++;
    }
    return count;
  };
  // 20 ms at once, plus half of the time that passes.
  expect(answers(4)).toBe(10);
  expect(budget.isLeft(atMs)).toBe(false);
  atMs += 20;
  expect(answers(4)).toBeLessThan(6);
  atMs += 1_000;
  expect(answers(50)).toBe(1);
});

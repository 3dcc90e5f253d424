import { seededRandom } from "@isochrone/runtime";
import { describe, expect, test } from "vitest";
import { Silence } from "./silence.ts";

function renewalsOf(seconds: number, isAnswered: (second: number) => boolean, seed = 1): number[] {
  const random = seededRandom(seed);
  const silence = new Silence(() => random.next());
  const renewals: number[] = [];
  let unanswered = 0;
  for (let second = 0; second < seconds; second++) {
    if (silence.isTooLong(unanswered, second * 1000)) {
      renewals.push(second);
      unanswered = 0;
    }
    if (isAnswered(second)) {
      silence.heard();
      unanswered = 0;
    } else unanswered++;
  }
  return renewals;
}

describe("a socket that loses everything", () => {
  test.each([1, 2, 3])("is replaced soon, then ever more seldom, down to five minutes (seed %i)", (seed) => {
    const renewals = renewalsOf(3600, () => false, seed);
    expect(renewals[0]).toBe(10);
    expect(renewals.length).toBeLessThan(35);
    const pauses = renewals.slice(1).map((second, index) => second - renewals[index]!);
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(10);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(301);
    expect(Math.min(...pauses.slice(8))).toBeGreaterThanOrEqual(150);
  });

  test("is replaced soon again after it has worked", () => {
    const renewals = renewalsOf(4000, (second) => second >= 3600 && second < 3605);
    expect(renewals.filter((second) => second >= 3605).length).toBeGreaterThan(2);
  });

  test.each([2, 3, 5, 10])("isn't replaced while every %ith packet comes through", (nth) => {
    expect(renewalsOf(3600, (second) => second % nth === 0)).toEqual([]);
  });

  test("isn't replaced for losses by chance", () => {
    const random = seededRandom(5);
    expect(renewalsOf(3600, () => random.next() > 0.3)).toEqual([]);
  });

  test("isn't replaced more than every 2.5 seconds, however fast it loses and recovers", () => {
    const silence = new Silence(() => 0);
    let renewals = 0;
    for (let atMs = 0; atMs < 60_000; atMs += 100) {
      if (silence.isTooLong(10, atMs)) renewals++;
      silence.heard();
    }
    expect(renewals).toBe(24);
  });
});

import { describe, expect, it } from "vitest";
import { erlangC, shareInTime } from "./queueing.ts";

describe("Erlang C", () => {
  // Tables of Erlang C: servers, load in erlangs, probability of waiting.
  it.each([
    [1, 0.5, 0.5],
    [2, 1, 1 / 3],
    [5, 4, 0.5541],
    [10, 8, 0.4092],
    [3, 3, 1],
    [3, 0, 0],
  ])("of %i servers with a load of %d is %d", (servers, load, expected) => {
    expect(erlangC(servers, load)).toBeCloseTo(expected, 4);
  });
});

describe("the share in time", () => {
  it("is all without requests, none without servers, and falls with the rate until the queue is full", () => {
    expect(shareInTime(2, 0, 1, 1)).toBe(1);
    expect(shareInTime(0, 1, 1, 1)).toBe(0);
    const shares = [0.5, 1, 1.5, 1.9].map((rate) => shareInTime(2, rate, 1, 1.3));
    expect(shares).toEqual(shares.toSorted((a, b) => b - a));
  });

  it("is the probability that an exponential wait ends within the slack", () => {
    // M/M/1: P(W > s) = rho exp(-(mu - lambda) s)
    expect(shareInTime(1, 0.5, 1, 2)).toBeCloseTo(1 - 0.5 * Math.exp(-1), 9);
  });
});

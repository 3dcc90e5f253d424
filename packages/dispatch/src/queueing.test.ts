import { seeded } from "@isochrone/primitives";
import { erlangC } from "@isochrone/primitives/algorithms";
import { describe, expect, it } from "vitest";
import { shareInTime, shareServed } from "./queueing.ts";

describe("Erlang C", () => {
  // Erlang C tables: servers, load in erlangs, probability of waiting.
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
  it("is all without requests, none when the queue is full, and falls with the rate", () => {
    expect(shareInTime(2, 0, 1, 1)).toBe(1);
    expect(shareInTime(0, 1, 1, 1)).toBe(0);
    expect(shareInTime(2, 2, 1, 1)).toBe(0);
    const shares = [0.5, 1, 1.5, 1.9].map((rate) => shareInTime(2, rate, 1, 1.3));
    expect(shares).toEqual(shares.toSorted((a, b) => b - a));
  });

  it("is the probability that an exponential wait ends within the slack", () => {
    // M/M/1: P(W > s) = rho exp(-(mu - lambda) s)
    expect(shareInTime(1, 0.5, 1, 2)).toBeCloseTo(1 - 0.5 * Math.exp(-1), 9);
  });
});

describe("the share that is served when those leave that wait too long", () => {
  it("is the loss of Erlang B without patience, and all with endless patience", () => {
    // Erlang B of 3 servers and 2 erlangs: 0.2105.
    expect(1 - shareServed(3, 2, 1, 0)).toBeCloseTo(0.2105, 4);
    expect(shareServed(3, 2, 1, 1e6)).toBeCloseTo(1, 9);
  });

  it("is what servers can do above saturation", () => {
    expect(shareServed(2, 8, 1, 50)).toBeCloseTo(0.25, 3);
  });

  it("grows with each server, below, at and above saturation", () => {
    for (const rate of [0.2, 1, 2.5, 4, 9]) {
      const shares = [0, 1, 2, 3, 4, 5, 6, 7, 8].map((servers) => shareServed(servers, rate, 1, 1.3));
      for (const [at, share] of shares.slice(1).entries()) expect(share).toBeGreaterThan(shares[at]!);
    }
  });

  it.each([
    [1, 0.5],
    [2, 1.6],
    [3, 3],
    [3, 4.5],
  ])("equals what a simulation of %i servers at %d/s gives", (servers, rate) => {
    expect(shareServed(servers, rate, 1, 1.3)).toBeCloseTo(simulated(servers, rate, 1.3), 1.7);
  });
});

function simulated(servers: number, rate: number, patience: number): number {
  const draw = seeded(servers * 100 + rate);
  const free = Array.from({ length: servers }, () => 0);
  let now = 0;
  let served = 0;
  const total = 60_000;
  for (let k = 0; k < total; k++) {
    now -= Math.log(1 - draw()) / rate;
    const next = free.indexOf(Math.min(...free));
    const begin = Math.max(now, free[next]!);
    if (begin - now > patience) continue;
    served++;
    free[next] = begin - Math.log(1 - draw());
  }
  return served / total;
}

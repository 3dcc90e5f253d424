import { expect, test } from "vitest";
import { RateLimiter } from "./rate-limiter.ts";

test("a source gets its burst, then its rate", () => {
  const limiter = new RateLimiter(10, 5, 100);
  const admitted = (nowMs: number): number =>
    Array.from({ length: 20 }, () => limiter.admit("a", nowMs)).filter(Boolean).length;
  expect([admitted(0), admitted(0), admitted(100), admitted(1100)]).toEqual([5, 0, 1, 5]);
});

test("one source's flood takes nothing from another", () => {
  const limiter = new RateLimiter(1, 1, 100);
  for (let i = 0; i < 1000; i++) limiter.admit("flood", 0);
  expect(limiter.admit("peer", 0)).toBe(true);
});

test("invented sources can't fill the memory, and the least recently heard is forgotten first", () => {
  const limiter = new RateLimiter(1, 1, 3);
  limiter.admit("busy", 0);
  for (let i = 0; i < 1000; i++) {
    limiter.admit(`invented-${i}`, 0);
    expect(limiter.admit("busy", 0)).toBe(false);
  }
  expect(limiter.sources).toBe(3);
});

test("a clock that goes back gives no tokens", () => {
  const limiter = new RateLimiter(1000, 1, 3);
  expect([limiter.admit("a", 1000), limiter.admit("a", 0)]).toEqual([true, false]);
});

import { expect, test } from "vitest";
import { BoundedMap } from "./bounded-map.ts";
import { TokenBucket } from "./token-bucket.ts";

test("a bounded map forgets what was used longest ago", () => {
  const map = new BoundedMap<number>(2);
  map.set("a", 1);
  map.set("b", 2);
  expect(map.get("a")).toBe(1);
  map.set("c", 3);
  expect([map.get("a"), map.get("b"), map.get("c"), map.size]).toEqual([1, undefined, 3, 2]);
  map.delete("a");
  expect([map.get("a"), map.size]).toEqual([undefined, 1]);
});

test("a token bucket allows its rate over any time, and its burst after a pause", () => {
  const bucket = new TokenBucket({ perSecond: 10, burst: 5 }, 0, 0);
  let taken = 0;
  for (let nowMs = 0; nowMs <= 60_000; nowMs += 100) while (bucket.take(nowMs)) taken++;
  expect(taken).toBe(600);
  let burst = 0;
  while (bucket.take(10_000_000)) burst++;
  expect(burst).toBe(5);
});

test("a token bucket starts full unless told otherwise, and takes another rate between calls", () => {
  const full = new TokenBucket({ perSecond: 1, burst: 2 }, 0);
  expect([full.take(0), full.take(0), full.take(0), full.isEmpty(999), full.isEmpty(1_000)]).toEqual([
    true,
    true,
    false,
    true,
    false,
  ]);
  full.rate = { perSecond: 1_000, burst: 100 };
  expect(full.isEmpty(1_010)).toBe(false);
  let taken = 0;
  while (full.take(1_010)) taken++;
  expect(taken).toBe(11);
});

test("a token bucket gives nothing for a clock that goes back", () => {
  const bucket = new TokenBucket({ perSecond: 1, burst: 1 }, 10_000, 0);
  expect(bucket.take(5_000)).toBe(false);
  expect(bucket.take(5_999)).toBe(false);
  expect(bucket.take(6_000)).toBe(true);
});

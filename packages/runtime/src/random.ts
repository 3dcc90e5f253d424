import type { Random } from "./clock.ts";

/** A repeatable source: the same seed gives the same numbers on every machine (mulberry32). */
export function seededRandom(seed: number): Random {
  let state = Math.trunc(seed) >>> 0;
  return {
    next(): number {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
    },
  };
}

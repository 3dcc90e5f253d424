import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  DOMAIN_MAX,
  DOMAIN_MIN,
  MAX_INDEX,
  MIN_INDEX,
  bucketIndex,
  bucketMiddle,
  bucketUpperBound,
} from "./exponential-index.ts";

function nextUp(value: number): number {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  bits.setBigInt64(0, bits.getBigInt64(0) + 1n);
  return bits.getFloat64(0);
}

/** Whether value <= 2^(step/64), in exact integers: every double is m / 2^1074. */
function isAtMostPower(value: number, step: number): boolean {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  const raw = bits.getBigUint64(0);
  const exponent = (raw >> 52n) - 1075n;
  const mantissa = (raw & 0xfffffffffffffn) | 0x10000000000000n;
  const shift = 64n * exponent - BigInt(step);
  const power = mantissa ** 64n;
  return shift >= 0n ? power << shift <= 1n : power <= 1n << -shift;
}

describe("bucketIndex", () => {
  it("puts an exact power of two into the bucket that ends with it", () => {
    for (let exponent = -29; exponent <= 19; exponent++) {
      expect(bucketIndex(2 ** exponent)).toBe(exponent * 64 - 1);
      expect(bucketIndex(nextUp(2 ** exponent))).toBe(exponent * 64);
    }
  });

  it("splits every boundary of the domain at the right double", () => {
    for (let index = MIN_INDEX; index < MAX_INDEX; index++) {
      const bound = bucketUpperBound(index);
      expect(bucketIndex(bound)).toBe(index);
      expect(bucketIndex(nextUp(bound))).toBe(index + 1);
    }
  });

  it("agrees with exact integer arithmetic", () => {
    fc.assert(
      fc.property(fc.double({ min: DOMAIN_MIN, max: DOMAIN_MAX, noNaN: true }), (value) => {
        const index = bucketIndex(value);
        expect(isAtMostPower(value, index + 1)).toBe(true);
        expect(isAtMostPower(value, index)).toBe(false);
      }),
    );
  });

  it("agrees with exact integer arithmetic at the boundaries", () => {
    for (let index = -64; index < 64; index++) {
      const bound = bucketUpperBound(index);
      expect(isAtMostPower(bound, index + 1)).toBe(true);
      expect(isAtMostPower(nextUp(bound), index + 1)).toBe(false);
    }
  });
});

describe("bucketMiddle", () => {
  it("is at most 0.55 % away from both ends of its bucket", () => {
    for (let index = MIN_INDEX; index <= MAX_INDEX; index++) {
      expect(bucketMiddle(index) / bucketUpperBound(index - 1)).toBeLessThan(1.0055);
      expect(bucketUpperBound(index) / bucketMiddle(index)).toBeLessThan(1.0055);
    }
  });
});

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Distribution } from "./distribution.ts";
import type { ExponentialHistogramData } from "./otlp/model.ts";

const MAX_RELATIVE_ERROR = 0.011;
const QUANTILES = [0, 0.001, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1];

function recorded(values: readonly number[]): Distribution {
  const distribution = new Distribution();
  for (const value of values) expect(distribution.record(value)).toBe(true);
  return distribution;
}

function exactQuantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(Math.ceil(q * sorted.length), 1) - 1]!;
}

const uniform = fc.double({ min: 0.0001, max: 10, noNaN: true });
const gaussian = fc
  .tuple(fc.double({ min: 1e-9, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true }))
  .map(([u, v]) => Math.sqrt(-2 * Math.log(u)) * Math.cos(2 * Math.PI * v));
const lognormal = gaussian.map((z) => 0.002 * Math.exp(0.7 * z));
const bimodal = fc.oneof(
  gaussian.map((z) => 0.0005 * Math.exp(0.02 * z)),
  gaussian.map((z) => 0.08 * Math.exp(0.02 * z)),
);
const adversarial = fc.oneof(
  fc.constantFrom(0, 1e-9, 1e6, 1, Number.MIN_VALUE * 0),
  fc.integer({ min: -29, max: 19 }).map((exponent) => 2 ** exponent),
  fc.integer({ min: -1_900, max: 1_270 }).map((step) => 2 ** (step / 64)),
  fc.double({ min: 1e-9, max: 1e6, noNaN: true }),
);
const shapes = { uniform, lognormal, bimodal, adversarial };

describe.each(Object.entries(shapes))("a Distribution of %s data", (_, shape) => {
  const samples = fc.array(shape, { minLength: 1, maxLength: 400 });

  it("gives every quantile within 1.1 % of the exact nearest rank", () => {
    fc.assert(
      fc.property(samples, (values) => {
        const distribution = recorded(values);
        for (const q of QUANTILES) {
          const exact = exactQuantile(values, q);
          expect(Math.abs(distribution.quantile(q)! - exact)).toBeLessThanOrEqual(exact * MAX_RELATIVE_ERROR);
        }
      }),
    );
  });

  it("holds after a merge what recording everything in one holds", () => {
    fc.assert(
      fc.property(samples, samples, (a, b) => {
        const merged = recorded(a);
        merged.merge(recorded(b));
        expect(difference(merged, recorded([...a, ...b]))).toEqual([]);
      }),
    );
  });

  it("survives the way through its wire data", () => {
    fc.assert(
      fc.property(samples, (values) => {
        const before = recorded(values);
        const after = new Distribution();
        expect(after.mergeData(before.toData())).toBe(true);
        expect(difference(after, before)).toEqual([]);
      }),
    );
  });

  it("folds finer scales exactly", () => {
    fc.assert(
      fc.property(samples, fc.integer({ min: 7, max: 9 }), (values, scale) => {
        const tight = values
          .map((value) => 1 + (value % 1))
          .filter((value) => value === 1 || isInsideBucket(value, scale));
        const folded = new Distribution();
        expect(folded.mergeData(atScale(tight, scale))).toBe(true);
        expect(difference(folded, recorded(tight))).toEqual([]);
      }),
    );
  });
});

function difference(actual: Distribution, expected: Distribution): string[] {
  const a = actual.toData();
  const b = expected.toData();
  const names = (["scale", "zeroCount", "offset", "count", "min", "max"] as const).filter(
    (name) => a[name] !== b[name],
  );
  const sumDiffers = Math.abs(a.sum - b.sum) > 1e-9 * b.sum;
  const bucketsDiffer = Array.from(a.bucketCounts).join() !== Array.from(b.bucketCounts).join();
  return [...names, ...(sumDiffers ? ["sum"] : []), ...(bucketsDiffer ? ["bucketCounts"] : [])];
}

/** Whether a logarithm is precise enough to find the bucket. */
function isInsideBucket(value: number, scale: number): boolean {
  const position = Math.log2(value) * 2 ** scale;
  return Math.abs(position - Math.round(position)) > 1e-9;
}

function atScale(values: readonly number[], scale: number): ExponentialHistogramData {
  const bucketCounts = Array.from({ length: 2 ** scale + 1 }, () => 0);
  for (const value of values) bucketCounts[Math.ceil(Math.log2(value) * 2 ** scale)]!++;
  return {
    scale,
    zeroCount: 0,
    offset: -1,
    bucketCounts,
    count: values.length,
    sum: values.reduce((sum, value) => sum + value, 0),
    min: values.length === 0 ? 0 : Math.min(...values),
    max: values.length === 0 ? 0 : Math.max(...values),
  };
}

describe("Distribution.record", () => {
  it.each([NaN, Infinity, -Infinity, -1, -1e-9, 9e-10, Number.MIN_VALUE, 1_000_001])(
    "refuses %d",
    (value) => {
      const distribution = recorded([1, 2]);
      const before = distribution.toData();
      expect(distribution.record(value)).toBe(false);
      expect(distribution.toData()).toEqual(before);
    },
  );

  it.each([0, -1, 0.5, NaN, Infinity, 2 ** 53])("refuses a count of %d", (count) => {
    const distribution = recorded([1, 2]);
    const before = distribution.toData();
    expect(distribution.record(1, count)).toBe(false);
    expect(distribution.toData()).toEqual(before);
  });

  it("takes both ends of the domain and zero, negative zero as zero", () => {
    const distribution = recorded([0, -0, 1e-9, 1e6]);
    expect(distribution.toData()).toMatchObject({ zeroCount: 2, count: 4, min: 0, max: 1e6 });
    expect(Object.is(recorded([-0]).min, 0)).toBe(true);
  });

  it("counts beyond 32 bits per bucket", () => {
    const distribution = recorded([0.5]);
    expect(distribution.record(0.5, 2 ** 32)).toBe(true);
    const other = distribution.clone();
    other.merge(distribution);
    expect(distribution.toData().bucketCounts[0]).toBe(2 ** 32 + 1);
    expect(other.toData().bucketCounts[0]).toBe(2 ** 33 + 2);
    expect(other.record(0.5, 2 ** 53 - 1)).toBe(false);
    expect(other.count).toBe(2 ** 33 + 2);
  });
});

describe("an empty Distribution", () => {
  it("has no extremes, no mean and no quantiles", () => {
    const empty = new Distribution();
    expect([empty.min, empty.max, empty.mean, empty.quantile(0.5)]).toEqual([null, null, null, null]);
    expect(empty.percentiles()).toEqual({ p50: null, p90: null, p99: null });
  });

  it("changes nothing when merged", () => {
    const distribution = recorded([1]);
    distribution.merge(new Distribution());
    expect(distribution.mergeData(new Distribution().toData())).toBe(true);
    expect(difference(distribution, recorded([1]))).toEqual([]);
  });

  it("is what clear leaves", () => {
    const distribution = recorded([0, 5]);
    distribution.clear();
    expect(distribution.toData()).toEqual(new Distribution().toData());
    expect(distribution.record(7)).toBe(true);
    expect(difference(distribution, recorded([7]))).toEqual([]);
  });
});

describe("Distribution.percentiles", () => {
  it("gives p90 from 20 samples on and p99 from 100 on", () => {
    const distribution = new Distribution();
    distribution.record(1, 19);
    expect(distribution.percentiles()).toEqual({ p50: 1, p90: null, p99: null });
    distribution.record(1);
    expect(distribution.percentiles()).toEqual({ p50: 1, p90: 1, p99: null });
    distribution.record(1, 79);
    expect(distribution.percentiles().p99).toBeNull();
    distribution.record(1);
    expect(distribution.percentiles().p99).toBe(1);
  });

  it("refuses quantiles outside 0 to 1", () => {
    expect(() => new Distribution().quantile(1.1)).toThrow("quantile must be between 0 and 1, got 1.1");
    expect(() => new Distribution().quantile(NaN)).toThrow(RangeError);
  });
});

describe("Distribution.ofChecked", () => {
  it("is what the checked data gives, and independent of it", () => {
    const original = new Distribution();
    for (const value of [0, 0.001, 0.002, 0.002, 5]) original.record(value);
    const data = original.toData() as ReturnType<Distribution["toData"]> & { bucketCounts: Uint32Array };
    const copy = Distribution.ofChecked(data);
    expect(copy.toData()).toEqual(original.toData());
    copy.record(0.003);
    expect(original.count).toBe(5);
    expect(Distribution.ofChecked({ ...data, count: 0 }).count).toBe(0);
  });

  it("refuses more samples than a counter holds", () => {
    const data = { ...new Distribution().toData(), bucketCounts: new Uint32Array(0), count: 2 ** 32 };
    expect(() => Distribution.ofChecked(data)).toThrow("hold at most 4294967295 samples, got 4294967296");
  });
});

describe("Distribution.clone", () => {
  it("is independent of the original", () => {
    const original = recorded([1, 2]);
    const copy = original.clone();
    copy.record(3);
    expect(difference(original, recorded([1, 2]))).toEqual([]);
    expect(difference(copy, recorded([1, 2, 3]))).toEqual([]);
  });
});

describe("Distribution.merge", () => {
  it("doubles when merged with itself", () => {
    const distribution = recorded([0, 1, 2]);
    distribution.merge(distribution);
    expect(difference(distribution, recorded([0, 1, 2, 0, 1, 2]))).toEqual([]);
  });
});

describe("Distribution.mergeData", () => {
  const good: ExponentialHistogramData = {
    scale: 6,
    zeroCount: 1,
    offset: -2,
    bucketCounts: [2, 0, 3],
    count: 6,
    sum: 5,
    min: 0,
    max: 1.005,
  };

  it("takes data that fits", () => {
    expect(new Distribution().mergeData(good)).toBe(true);
  });

  const hostile: Readonly<Record<string, Partial<ExponentialHistogramData>>> = {
    "a coarser scale": { scale: 5 },
    "a scale beyond any exporter's": { scale: 21 },
    "a fractional scale": { scale: 6.5 },
    "a negative count in a bucket": { bucketCounts: [6, -1, 0] },
    "a fractional count in a bucket": { bucketCounts: [1.5, 0.5, 3] },
    "NaN in a bucket": { bucketCounts: [2, NaN, 3] },
    "a count that is not the sum of the buckets": { count: 7 },
    "a negative zero count": { zeroCount: -1, count: 4 },
    "an offset out of the domain": { offset: 1_000_000 },
    "an offset that is no number": { offset: NaN },
    "a huge negative offset": { offset: -(2 ** 52) },
    "more buckets than any exporter has": { bucketCounts: { length: 1e9 } },
    "a sum that is no number": { sum: NaN },
    "an infinite sum": { sum: Infinity },
    "a negative sum": { sum: -1 },
    "a sum that the extremes rule out": { sum: 100 },
    "a minimum above the maximum": { min: 2, max: 1 },
    "a maximum away from the last bucket": { max: 1_000 },
    "a minimum that is no number": { min: NaN },
    "an infinite maximum": { max: Infinity },
    "a minimum of a bucket that is empty": { zeroCount: 0, count: 5, min: 0.5 },
  };
  it.each(Object.entries(hostile))("refuses %s and stays as it was", (_, change) => {
    const distribution = recorded([0.25, 4]);
    const before = distribution.toData();
    expect(distribution.mergeData({ ...good, ...change })).toBe(false);
    expect(distribution.toData()).toEqual(before);
  });

  it("never breaks on arbitrary numbers", () => {
    const number = fc.oneof(fc.double(), fc.integer(), fc.constantFrom(0, 1, 2 ** 53, 2 ** 31, -1));
    const data = fc.record({
      scale: fc.integer({ min: 0, max: 22 }),
      zeroCount: number,
      offset: number,
      bucketCounts: fc.array(number, { maxLength: 20 }),
      count: number,
      sum: number,
      min: number,
      max: number,
    });
    fc.assert(
      fc.property(data, (hostileData) => {
        const distribution = recorded([1]);
        const before = distribution.toData();
        const taken = distribution.mergeData(hostileData);
        expect(distribution.count).toBe(taken ? 1 + hostileData.count : 1);
        expect(taken ? before : distribution.toData()).toEqual(before);
      }),
    );
  });
});

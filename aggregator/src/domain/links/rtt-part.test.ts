import { Distribution, type ExponentialHistogramData } from "@isochrone/telemetry";
import { describe, expect, it } from "vitest";
import { RttPart } from "./rtt-part.ts";

/** Middle of bucket -640 + i at scale 6, seconds. */
function middle(i: number): number {
  return 2 ** ((-639.5 + i) / 64);
}

function histogram(bucketCounts: number[]): ExponentialHistogramData {
  const used = bucketCounts.map((count, i) => ({ count, i })).filter(({ count }) => count > 0);
  return {
    scale: 6,
    offset: -640,
    bucketCounts,
    zeroCount: 0,
    count: used.reduce((sum, { count }) => sum + count, 0),
    sum: used.reduce((sum, { count, i }) => sum + count * middle(i), 0),
    min: middle(used[0]!.i),
    max: middle(used.at(-1)!.i),
  };
}

function plain({ bucketCounts, ...rest }: ExponentialHistogramData): unknown {
  return { ...rest, bucketCounts: Array.from(bucketCounts) };
}

describe("RttPart", () => {
  it.each([
    ["one histogram", [[0, 0, 3, 0, 4, 0]]],
    [
      "two",
      [
        [1, 2],
        [0, 0, 0, 5],
      ],
    ],
    ["three", [[1], [0, 7], [0, 0, 1, 1]]],
  ])("has of %s what a Distribution has", (_, all) => {
    const part = new RttPart();
    const whole = new Distribution();
    for (const counts of all) {
      const data = histogram(counts);
      part.add(data);
      whole.mergeData(data);
      expect(plain(part.toData())).toEqual(plain(whole.toData()));
    }
  });

  it("keeps its own copy: who hands a histogram over uses the object again", () => {
    const counts = [1, 2];
    const part = new RttPart();
    part.add(histogram(counts));
    counts[0] = 99;
    expect(Array.from(part.toData().bucketCounts)).toEqual([1, 2]);
  });

  it.each([
    ["counts that contradict each other", { count: 5 }],
    ["more than can be written", { count: 2 ** 60, bucketCounts: [2 ** 60] }],
    ["a coarser scale", { scale: 3 }],
  ])("takes nothing of %s, alone or beside others", (_, wrong) => {
    const data = { ...histogram([1, 2]), ...wrong };
    const part = new RttPart();
    part.add(data);
    expect(part.toData().count).toBe(0);
    part.add(histogram([4]));
    part.add(data);
    expect(part.toData().count).toBe(4);
  });
});

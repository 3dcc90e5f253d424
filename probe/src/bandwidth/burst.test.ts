import { describe, expect, test } from "vitest";
import { TEST_RULES, simulate, type LinkModel, type Simulation } from "./testing/simulated-link.ts";

function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const tbf = (mbit: number, bucketBytes: number, rest: Partial<LinkModel> = {}): LinkModel => ({
  bitsPerSecond: mbit * 1e6,
  bucketBytes,
  queueBytes: (mbit * 1e6 * 0.05) / 8 + bucketBytes,
  delayMs: 0.1,
  jitterMs: 0.05,
  ...rest,
});

const errorOf = ({ achievedBitsPerSecond }: Simulation, mbit: number): number =>
  Math.abs((achievedBitsPerSecond ?? 0) / (mbit * 1e6) - 1);

describe("a burst over a quiet link", () => {
  const shapes = [10, 100, 1000].flatMap((mbit) =>
    [32e3, 256e3, 1024e3].map((bucket) => [mbit, bucket] as const),
  );
  test.each(shapes)("%d Mbit/s behind a bucket of %d bytes", (mbit, bucket) => {
    const result = simulate(tbf(mbit, bucket), seeded(mbit + bucket));
    expect(result).toMatchObject({ result: "ok", reason: "", limit: "link" });
    expect(errorOf(result, mbit)).toBeLessThan(0.01);
    expect(result.durationMs).toBeLessThan(1000);
    expect(result.bytes).toBeLessThan(40e6);
  });

  test.each([1, 5, 20, 50])("%d ms away", (delayMs) => {
    const result = simulate(tbf(100, 64e3, { delayMs }), seeded(delayMs), {
      ...TEST_RULES,
      roundTripMs: 2 * delayMs,
    });
    expect(result.result).toBe("ok");
    expect(errorOf(result, 100)).toBeLessThan(0.02);
    expect(result.maxQueueMs).toBeLessThan(80);
  });

  test("the two clocks needn't agree", () => {
    const clocks = { clockOffsetMs: -86_400_000, clockDrift: 5e-5 };
    const result = simulate(tbf(50, 32e3, clocks), seeded(3));
    expect(result.result).toBe("ok");
    expect(errorOf(result, 50)).toBeLessThan(0.01);
  });

  test("a sender that stands still for 15 of every 47 ms costs time, not accuracy", () => {
    for (const mbit of [10, 100, 1000]) {
      const stall = { everyMs: 47, forMs: 15 };
      const result = simulate(tbf(mbit, 128e3, { stall }), seeded(mbit));
      expect(result.result).toBe("ok");
      expect(errorOf(result, mbit)).toBeLessThan(0.02);
    }
  });

  test("a policer, which drops instead of queueing", () => {
    for (const mbit of [10, 100]) {
      const result = simulate(tbf(mbit, 64e3, { queueBytes: 0 }), seeded(mbit));
      expect(result).toMatchObject({ result: "ok", limit: "link" });
      expect(errorOf(result, mbit)).toBeLessThan(0.03);
    }
  });

  test("a queue of five milliseconds isn't kept overflowing", () => {
    const result = simulate(tbf(50, 1600, { queueBytes: 30_000 }), seeded(5));
    expect(result.result).toBe("ok");
    expect(errorOf(result, 50)).toBeLessThan(0.02);
  });

  test("a link faster than the cap reads as the cap", () => {
    const result = simulate(tbf(5000, 64e3), seeded(6), { ...TEST_RULES, maxBitsPerSecond: 200e6 });
    expect(result).toMatchObject({ result: "ok", limit: "rate_cap" });
    expect(errorOf(result, 200)).toBeLessThan(0.02);
  });
});

describe("a burst over a link that others use", () => {
  const shares = [0.15, 0.3, 0.5, 0.9].flatMap((share) =>
    [10, 100, 1000].map((mbit) => [share, mbit] as const),
  );
  test.each(shares)("notices %d of %d Mbit/s, and takes nothing from it", (share, mbit) => {
    const results = [1, 2, 3, 4, 5].map((seed) =>
      simulate(tbf(mbit, 32e3, { otherBitsPerSecond: share * mbit * 1e6 }), seeded(seed)),
    );
    expect(results.filter(({ result }) => result === "skipped_busy").length).toBeGreaterThanOrEqual(4);
    // Over five tests beside 90 % other traffic, one packet may find the queue full.
    for (const { otherLostBytes } of results) expect(otherLostBytes).toBeLessThanOrEqual(2 * 1514);
  });

  test("little beside it costs that little", () => {
    const result = simulate(tbf(100, 32e3, { otherBitsPerSecond: 2e6 }), seeded(8));
    expect(result.result).toBe("ok");
    expect(errorOf(result, 100)).toBeLessThan(0.03);
  });

  test.each([0.6, 1.5])("stops soon when others begin within the burst with %d of the link", (share) => {
    for (const mbit of [10, 100]) {
      const others = { otherBitsPerSecond: share * mbit * 1e6, otherFromMs: 600 };
      const result = simulate(tbf(mbit, 32e3, others), seeded(mbit));
      expect(result.result).toBe("skipped_busy");
      expect(result.durationMs).toBeLessThan(600);
    }
  });

  test("delays that jump before the burst end it before it begins", () => {
    const result = simulate(tbf(100, 32e3, { delayMs: 5, jitterMs: 6 }), seeded(9));
    expect(result).toMatchObject({ result: "skipped_busy", durationMs: 0 });
    expect(result.bytes).toBeLessThan(5000);
  });
});

describe("bounds of a burst", () => {
  test("it never sends more than it may", () => {
    for (const maxBytes of [262_144, 1e6, 3e6]) {
      const result = simulate(tbf(1000, 256e3), seeded(10), { ...TEST_RULES, maxBytes });
      expect(result.bytes).toBeLessThanOrEqual(maxBytes);
      expect(result).toMatchObject({ result: "skipped_budget", achievedBitsPerSecond: null });
    }
  });

  test("it ends in its time where the link is never full for long", () => {
    const stall = { everyMs: 20, forMs: 18 };
    const result = simulate(tbf(100, 1e6, { stall }), seeded(11), { ...TEST_RULES, maxDurationMs: 900 });
    expect(result.durationMs).toBeLessThan(930);
  });

  test("a host that has no time to send isn't taken for a slow link", () => {
    const stall = { everyMs: 25, forMs: 19 };
    const result = simulate(tbf(1000, 256e3, { stall }), seeded(13));
    expect(result.achievedBitsPerSecond ?? 1e9).toBeGreaterThan(0.97e9);
  });

  test("a link that lets nothing through is an error", () => {
    const result = simulate(tbf(10, 32e3, { lossRatio: 1 }), seeded(12));
    expect(result).toMatchObject({ result: "error", reason: "none of the small packets arrived" });
  });
});

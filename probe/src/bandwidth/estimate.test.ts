import { describe, expect, test } from "vitest";
import { ArrivalCondenser, wireOverhead, type ArrivalBin } from "./arrivals.ts";
import { estimateLink, type EstimateRules } from "./estimate.ts";
import { judgeQuiet } from "./quiet.ts";

const RULES: EstimateRules = { baseDelayNs: 1e6, toleranceNs: 1e6, policed: false };
const UNIT = 1514;

function queued(
  bitsPerSecond: number,
  sendBits: number,
  units: number,
  startMs: number,
  delayMs: number,
): ArrivalBin[] {
  const condenser = new ArrivalCondenser();
  const apartNs = (UNIT * 8e9) / bitsPerSecond;
  const sendApartNs = (UNIT * 8e9) / sendBits;
  for (let i = 0; i < units; i++) {
    const arrival = startMs * 1e6 + i * apartNs;
    condenser.add(i, arrival - 1e6 - delayMs * 1e6 - i * (apartNs - sendApartNs), arrival, UNIT, 0);
  }
  condenser.closeOlderThan(Number.POSITIVE_INFINITY);
  return condenser.drain();
}

describe("estimate of a link", () => {
  test.each([1e6, 10e6, 100e6, 1e9])("a full queue shows the rate of the link: %d bit/s", (rate) => {
    const estimate = estimateLink(queued(rate, rate * 1.1, 20_000, 0, 3), RULES);
    expect(estimate?.bitsPerSecond).toBeCloseTo(rate, -rate / 1e3);
    expect(Math.abs((estimate?.bitsPerSecond ?? 0) / rate - 1)).toBeLessThan(0.001);
    expect(estimate?.relativeError).toBeLessThan(0.01);
  });

  test("arrivals that didn't wait say nothing, however fast they come: the bucket can't flatter", () => {
    const bucket = queued(1e9, 1e9, 500, 0, 0);
    expect(estimateLink(bucket, RULES)).toBeNull();
    const after = queued(50e6, 60e6, 2000, 10, 3);
    const estimate = estimateLink([...bucket, ...after], RULES);
    expect(Math.abs((estimate?.bitsPerSecond ?? 0) / 50e6 - 1)).toBeLessThan(0.002);
  });

  test("one stall of the machine moves neither the rate nor the certainty much", () => {
    const before = queued(100e6, 120e6, 1000, 0, 3);
    const after = queued(100e6, 120e6, 1000, 200, 3);
    const estimate = estimateLink([...before, ...after], RULES);
    expect(Math.abs((estimate?.bitsPerSecond ?? 0) / 100e6 - 1)).toBeLessThan(0.005);
  });

  test("what the receiver's own socket dropped crossed the link all the same", () => {
    const bins = queued(100e6, 110e6, 4000, 0, 3).map((bin, i) =>
      i % 2 === 0
        ? bin
        : { ...bin, units: bin.units - 5, bytes: bin.bytes - 5 * UNIT, lost: 5, overflowed: 5 },
    );
    const estimate = estimateLink(bins, RULES);
    expect(Math.abs((estimate?.bitsPerSecond ?? 0) / 100e6 - 1)).toBeLessThan(0.005);
  });

  test("others' part of the link shows where the sender's rate changes", () => {
    // 30 Mbit/s of other traffic on 100 Mbit/s: sending S yields 100 * S / (S + 30).
    const bins: ArrivalBin[] = [];
    let sequence = 0;
    let sendNs = 0;
    let arrivalNs = 5e6;
    const condenser = new ArrivalCondenser();
    for (let part = 0; part < 20; part++) {
      const rate = part % 2 === 0 ? 80e6 : 140e6;
      for (let i = 0; i < 150; i++) {
        const gapNs = (UNIT * 8e9) / rate;
        sendNs += gapNs;
        arrivalNs += (gapNs * (rate + 30e6)) / 100e6;
        condenser.add(sequence++, sendNs, arrivalNs, UNIT, 0);
      }
    }
    bins.push(...condenser.drain());
    const estimate = estimateLink(bins, RULES);
    expect(estimate?.otherShare?.value).toBeGreaterThan(0.25);
    expect(estimate?.otherShare?.value).toBeLessThan(0.35);
  });
});

describe("arrivals", () => {
  test("a gap in the sequence is a loss, a late one isn't counted twice", () => {
    const condenser = new ArrivalCondenser();
    for (const sequence of [0, 1, 4, 3, 5])
      condenser.add(sequence, sequence * 100, sequence * 100 + 50, 10, 0);
    condenser.closeOlderThan(Number.POSITIVE_INFINITY);
    expect(condenser.drain()).toMatchObject([{ lastSequence: 5, units: 5, lost: 1, bytes: 50 }]);
  });

  test("bins stay short, and a clock far off changes nothing", () => {
    const condenser = new ArrivalCondenser();
    for (let i = 0; i < 100; i++) condenser.add(i, i * 1e5, i * 1e5 - 5e12, 1514, 0);
    const bins = condenser.drain();
    expect(bins.length).toBeGreaterThan(5);
    expect(bins.every((bin) => bin.minDelayNs === -5e12)).toBe(true);
  });

  test("headers: what tbf counts of a packet of 1500 bytes is 1514", () => {
    expect(1472 + wireOverhead(4, 1448).packetBytes).toBe(1514);
    expect(1448 * wireOverhead(4, 1448).streamFactor).toBeCloseTo(1514, 9);
    expect(1428 * wireOverhead(6, 1428).streamFactor).toBeCloseTo(1514, 9);
  });
});

describe("quiet way", () => {
  const bin = (i: number, delayMs: number): ArrivalBin => ({
    lastSequence: i,
    units: 1,
    lost: 0,
    overflowed: 0,
    bytes: 106,
    lastSendNs: i * 1e7,
    lastArrivalNs: i * 1e7 + delayMs * 1e6,
    minDelayNs: delayMs * 1e6,
  });

  test("even delays are quiet, a few outliers too", () => {
    const bins = Array.from({ length: 40 }, (_, i) => bin(i, i % 13 === 0 ? 6 : 3 + 0.001 * (i % 7)));
    expect(judgeQuiet(bins, 40, 0.2)).toMatchObject({ busy: null, baseDelayNs: 3e6 });
  });

  test("a queue that comes and goes is busy, and so are losses", () => {
    const waving = Array.from({ length: 40 }, (_, i) => bin(i, 3 + (i % 10)));
    expect(judgeQuiet(waving, 40, 0.2).busy).toMatch(/delays vary by/);
    const even = Array.from({ length: 37 }, (_, i) => bin(i, 3));
    expect(judgeQuiet(even, 40, 0.2).busy).toMatch(/3 of 40 small packets got lost/);
    expect(() => judgeQuiet([], 40, 0.2)).toThrow(RangeError);
  });
});

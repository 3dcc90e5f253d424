import { median } from "@isochrone/primitives";
import { Distribution } from "@isochrone/telemetry";
import type { BenchResult } from "../types.ts";

const VALUES = 4_096;
const RECORDS = 2_000_000;
const MERGES = 20_000;
const ROUNDS = 15;
const RECORD_TARGET_NS = 40;

/** The same latencies in every run: lognormal around 2 ms. */
function latencies(): Float64Array {
  let state = 0x2545f491;
  const next = (): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return ((state >>> 0) + 0.5) / 2 ** 32;
  };
  return Float64Array.from({ length: VALUES }, () => {
    return 0.002 * Math.exp(0.5 * Math.sqrt(-2 * Math.log(next())) * Math.cos(2 * Math.PI * next()));
  });
}

function nanosecondsEach(operations: number, round: () => void): number {
  const samples: number[] = [];
  for (let i = 0; i < ROUNDS; i++) {
    const start = performance.now();
    round();
    if (i >= ROUNDS / 3) samples.push(((performance.now() - start) * 1e6) / operations);
  }
  return median(samples)!;
}

export async function run(): Promise<BenchResult[]> {
  const values = latencies();
  const recorded = new Distribution();
  const recordNs = nanosecondsEach(RECORDS, () => {
    for (let i = 0; i < RECORDS; i++) recorded.record(values[i % VALUES]!);
  });
  if (recorded.count !== RECORDS * ROUNDS)
    throw new Error(`expected ${RECORDS * ROUNDS} samples, got ${recorded.count}`);

  const pane = new Distribution();
  for (let i = 0; i < 10; i++) pane.record(values[i]!);
  const window = new Distribution();
  const mergePaneNs = nanosecondsEach(MERGES, () => {
    for (let i = 0; i < MERGES; i++) window.merge(pane);
  });
  const wide = new Distribution();
  const mergeWideNs = nanosecondsEach(MERGES, () => {
    for (let i = 0; i < MERGES; i++) wide.merge(recorded);
  });
  const data = pane.toData();
  const mergeDataNs = nanosecondsEach(MERGES, () => {
    for (let i = 0; i < MERGES; i++) window.mergeData(data);
  });
  return [
    {
      name: "distribution.record",
      value: recordNs,
      unit: "ns",
      target: `<= ${RECORD_TARGET_NS} ns`,
      met: recordNs <= RECORD_TARGET_NS,
    },
    { name: "distribution.merge, 10 samples", value: mergePaneNs, unit: "ns" },
    {
      name: `distribution.merge, ${recorded.toData().bucketCounts.length} buckets`,
      value: mergeWideNs,
      unit: "ns",
    },
    { name: "distribution.mergeData, 10 samples", value: mergeDataNs, unit: "ns" },
  ];
}

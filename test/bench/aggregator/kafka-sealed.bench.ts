// Alternates runs with and without seals, each with its own broker and aggregator.
import { median } from "@isochrone/primitives";
import type { BenchResult } from "../types.ts";
import { takeBacklog, type BacklogRun } from "./kafka-backlog.ts";

const PAIRS = 3;
const MAX_LOSS_PERCENT = 5;

/** CPU seconds of the process from its start until the backlog is in the windows. */
function cpuSecondsOf({ progress }: BacklogRun): number {
  return progress.at(-1)!.cpuSeconds;
}

function pointsPerSecondOf({ progress }: BacklogRun): number {
  const last = progress.at(-1)!;
  const began = progress.findLast(({ points }) => points === 0) ?? progress[0]!;
  return ((last.points - began.points) * 1_000) / (last.atMs - began.atMs);
}

export async function run(): Promise<BenchResult[]> {
  const plain: BacklogRun[] = [];
  const sealed: BacklogRun[] = [];
  for (let pair = 0; pair < PAIRS; pair++) {
    // Alternates the order, so that drift affects both.
    for (const isSealed of pair % 2 === 0 ? [false, true] : [true, false])
      (isSealed ? sealed : plain).push(await takeBacklog(isSealed));
  }
  const of = (runs: readonly BacklogRun[], figure: (run: BacklogRun) => number): number =>
    median(runs.map(figure))!;
  const cpuPercent = 100 * (of(sealed, cpuSecondsOf) / of(plain, cpuSecondsOf) - 1);
  const lossPercent = 100 * (1 - of(sealed, pointsPerSecondOf) / of(plain, pointsPerSecondOf));
  return [
    {
      name: `aggregator, Kafka to graph: points/s lost by proving records, ${plain[0]!.pinned}`,
      value: Number(lossPercent.toFixed(2)),
      unit: "%",
      target: `<= ${MAX_LOSS_PERCENT}`,
      met: lossPercent <= MAX_LOSS_PERCENT,
    },
    {
      name: "aggregator, Kafka to graph: CPU time more by proving records",
      value: Number(cpuPercent.toFixed(2)),
      unit: "%",
    },
  ];
}

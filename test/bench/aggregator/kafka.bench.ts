// A real broker, a backlog of the mix in its topics, and one aggregator on its own core that consumes it.
import type { BenchResult } from "../types.ts";
import { takeBacklog, type Progress } from "./kafka-backlog.ts";

/** Share of the backlog after which compilers and caches have settled. */
const WARM_PART = 0.25;
const TARGET_POINTS_PER_SECOND = 60_000;

export async function run(): Promise<BenchResult[]> {
  const { progress, pinned } = await takeBacklog(false);
  return resultsOf(progress, pinned);
}

function resultsOf(all: readonly Progress[], pinned: string): BenchResult[] {
  const last = all.at(-1)!;
  const began = all.findLast(({ points }) => points === 0) ?? all[0]!;
  const warm = all.find(({ points }) => points >= WARM_PART * last.points)!;
  const rate = (from: Progress): number =>
    Math.round(((last.points - from.points) * 1000) / (last.atMs - from.atMs));
  const perCpuSecond = (from: Progress): number =>
    Math.round((last.points - from.points) / (last.cpuSeconds - from.cpuSeconds));
  return [
    {
      name: `aggregator, Kafka to graph, ${pinned}, after the first quarter of a backlog`,
      value: rate(warm),
      unit: "points/s",
      target: `>= ${TARGET_POINTS_PER_SECOND}`,
      met: rate(warm) >= TARGET_POINTS_PER_SECOND,
    },
    {
      name: "aggregator, Kafka to graph, after the first quarter, by CPU time",
      value: perCpuSecond(warm),
      unit: "points/CPU s",
    },
    { name: "aggregator, Kafka to graph, all of a backlog", value: rate(began), unit: "points/s" },
    {
      name: "aggregator, Kafka to graph, all of a backlog, by CPU time",
      value: perCpuSecond(began),
      unit: "points/CPU s",
    },
    {
      name: "aggregator, Kafka to graph, CPU time of the process from its start",
      value: last.cpuSeconds,
      unit: "s",
    },
  ];
}

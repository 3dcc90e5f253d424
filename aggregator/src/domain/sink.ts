import type { ExponentialHistogramData } from "@isochrone/telemetry";
import type { PointTime } from "./point-time.ts";

/** What the points of one series flow into. It hangs on the series, so that nothing is looked up per point. */
export interface Sink {
  /** False: what it fed was dropped for being silent; bind the series anew. */
  readonly live: boolean;
  /** Why the series' points are not used; null when they are. */
  readonly unused: Unused | null;
  number?(point: PointTime, value: number): void;
  histogram?(point: PointTime, count: number, sum: number): void;
  /** False for numbers that contradict each other: nothing was taken. */
  exponentialHistogram?(point: PointTime, data: ExponentialHistogramData): boolean;
  /** Its series is gone, or bound anew: gives back what it took. */
  release?(): void;
}

/** Why the points of a series are not used; a label of metrics. */
export const UNUSED = [
  "unknown_metric",
  "unattributed",
  "too_many_links",
  "too_many_channels",
  "too_many_pods",
] as const;
export type Unused = (typeof UNUSED)[number];

/** A sink that takes nothing, for each reason. */
export const UNUSED_SINKS: Readonly<Record<Unused, Sink>> = Object.fromEntries(
  UNUSED.map((unused) => [unused, { live: true, unused }]),
) as Record<Unused, Sink>;

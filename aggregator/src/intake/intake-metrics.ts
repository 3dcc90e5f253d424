import { ScrapedMetrics } from "@isochrone/runtime";
import { Counter, Gauge, Histogram, type Registry } from "prom-client";

/** What both kinds of intake tell. */
export interface IntakeMetrics {
  readonly batchRecords: Histogram;
  readonly ageSeconds: Histogram;
  readonly lag: Gauge<"topic" | "partition">;
}

/** What an intake tells that shares the work with other replicas. */
export interface SharedMetrics extends IntakeMetrics {
  readonly flushSeconds: Histogram;
  readonly deltaBytes: Counter;
  readonly deltaRecords: Counter;
  readonly deltas: Counter<"verdict">;
  readonly waitSeconds: Histogram;
  readonly replayed: Counter;
  readonly superseded: Counter;
  readonly publishFailures: Counter;
  readonly deadLetters: Counter<"result">;
}

/** Registers what both kinds tell. */
export function createIntakeMetrics(registry: Registry): IntakeMetrics {
  const registers = [registry];
  return {
    batchRecords: new Histogram({
      name: "isochrone_consumer_batch_records",
      help: "Records of a batch as the bus handed it over.",
      buckets: [1, 3, 10, 30, 100, 300, 1000],
      registers,
    }),
    ageSeconds: new Histogram({
      name: "isochrone_aggregator_sample_age_seconds",
      help: "Age of a record's newest sample when it got into the windows that graphs are drawn from.",
      buckets: [0.1, 0.3, 1, 2, 3, 5, 7.5, 10, 15, 20, 30, 60, 120, 300],
      registers,
    }),
    lag: new Gauge({
      name: "isochrone_consumer_lag_records",
      help: "Records of a partition that this replica reads and has not read yet.",
      labelNames: ["topic", "partition"],
      registers,
    }),
  };
}

/** What is asked for when the metrics are read. */
interface SharedReadings {
  readonly ownedPartitions: number;
  /** Only grows. */
  readonly refusedDeltaPoints: number;
}

export function createSharedMetrics(registry: Registry, readings: () => SharedReadings): SharedMetrics {
  const registers = [registry];
  const scraped = new ScrapedMetrics(registry);
  scraped.counter(
    "isochrone_aggregator_delta_points_refused_total",
    "Points of other replicas' deltas that could not be used: there were too many links, channels or pods, or another version wrote them.",
    () => readings().refusedDeltaPoints,
  );
  scraped.gauge(
    "isochrone_aggregator_owned_partitions",
    "Input partitions that this replica owns.",
    () => readings().ownedPartitions,
  );
  return {
    ...createIntakeMetrics(registry),
    flushSeconds: new Histogram({
      name: "isochrone_aggregator_flush_duration_seconds",
      help: "From drawing a delta to reading it back.",
      buckets: [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30],
      registers,
    }),
    deltaBytes: new Counter({
      name: "isochrone_aggregator_delta_bytes_total",
      help: "Bytes of the deltas that this replica published.",
      registers,
    }),
    deltaRecords: new Counter({
      name: "isochrone_aggregator_delta_records_total",
      help: "Records of the deltas that this replica published.",
      registers,
    }),
    deltas: new Counter({
      name: "isochrone_aggregator_deltas_total",
      help: "Deltas read, of all replicas: own and other ones that were applied, skipped as older than the window, repeated, unreadable, or refused and why.",
      labelNames: ["verdict"],
      registers,
    }),
    waitSeconds: new Histogram({
      name: "isochrone_aggregator_backpressure_seconds",
      help: "How long batches waited that came while too much of their partition was on its way through the log; after 5 s they are handed over again.",
      buckets: [0.01, 0.03, 0.1, 0.3, 1, 3, 5, 10],
      registers,
    }),
    replayed: new Counter({
      name: "isochrone_aggregator_replayed_records_total",
      help: "Records read again after a take-over, for the last values of counters; they are counted nowhere else.",
      registers,
    }),
    superseded: new Counter({
      name: "isochrone_aggregator_superseded_total",
      help: "Partitions that somebody else claimed while this replica still meant to own them.",
      registers,
    }),
    publishFailures: new Counter({
      name: "isochrone_aggregator_publish_failures_total",
      help: "Attempts to publish a delta or a claim that failed; they are repeated.",
      registers,
    }),
    deadLetters: new Counter({
      name: "isochrone_aggregator_dead_letters_total",
      help: "Records that could not be used, by whether they were kept for inspection: published, suppressed (too many) or failed.",
      labelNames: ["result"],
      registers,
    }),
  };
}

import { Counter, Gauge, Histogram, type Registry } from "prom-client";

export interface IntakeMetrics {
  readonly batchRecords: Histogram;
  readonly ageSeconds: Histogram;
  readonly lag: Gauge<"topic" | "partition">;
}

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

export type DeadLetterCounter = Counter<"result">;

export function createDeadLetterCounter(registry: Registry): DeadLetterCounter {
  return new Counter({
    name: "isochrone_aggregator_dead_letters_total",
    help: "Records that could not be used, by whether the leader kept them for inspection: published, suppressed (too many) or failed.",
    labelNames: ["result"],
    registers: [registry],
  });
}

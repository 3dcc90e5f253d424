import { Counter, Gauge, Histogram, type Registry } from "prom-client";

/** The collector's own metrics; labels are kinds and reasons, never targets, so that their number stays small. */
export interface CollectorMetrics {
  readonly scrapes: Counter<"kind" | "result">;
  readonly failures: Counter<"kind" | "reason">;
  readonly duration: Histogram<"kind">;
  readonly samples: Counter<"kind">;
  readonly malformed: Counter<"kind">;
  readonly targets: Gauge<"kind">;
  readonly dropped: Counter<"reason">;
}

export function createCollectorMetrics(registry: Registry): CollectorMetrics {
  const registers = [registry];
  return {
    scrapes: new Counter({
      name: "isochrone_collector_scrapes_total",
      help: "Scrapes by result.",
      labelNames: ["kind", "result"],
      registers,
    }),
    failures: new Counter({
      name: "isochrone_collector_scrape_failures_total",
      help: "Scrapes that gave nothing, by reason.",
      labelNames: ["kind", "reason"],
      registers,
    }),
    duration: new Histogram({
      name: "isochrone_collector_scrape_duration_seconds",
      help: "Time of a scrape, reading included.",
      labelNames: ["kind"],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers,
    }),
    samples: new Counter({
      name: "isochrone_collector_samples_total",
      help: "Samples taken from pages.",
      labelNames: ["kind"],
      registers,
    }),
    malformed: new Counter({
      name: "isochrone_collector_malformed_lines_total",
      help: "Lines and histograms left out because they could not be read.",
      labelNames: ["kind"],
      registers,
    }),
    targets: new Gauge({
      name: "isochrone_collector_targets",
      help: "Pages known now.",
      labelNames: ["kind"],
      registers,
    }),
    dropped: new Counter({
      name: "isochrone_collector_records_dropped_total",
      help: "Records that the bus didn't take before the buffer was full, by reason.",
      labelNames: ["reason"],
      registers,
    }),
  };
}

import { Counter, Gauge, Histogram, type Registry } from "prom-client";

/** Metric label `reason` of isochrone_collector_skipped_total. */
const SKIP_REASONS = [
  /** Repeated failures: tried less often. */
  "backoff",
  "round_time",
  /** The round's byte limit is reached. */
  "round_bytes",
  "too_many_targets",
  "duplicate",
] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];

/** Labels are kinds, roles and reasons, never targets, so that series stay few. */
export interface CollectorMetrics {
  readonly scrapes: Counter<"kind" | "result">;
  readonly failures: Counter<"kind" | "reason">;
  readonly skipped: Counter<"kind" | "reason">;
  readonly duration: Histogram<"kind">;
  readonly roundDuration: Histogram;
  readonly bytes: Counter<"kind">;
  readonly samples: Counter<"kind">;
  readonly malformed: Counter<"kind">;
  readonly rowsRefused: Counter<"kind" | "reason">;
  readonly rowsUnused: Counter<"kind" | "reason">;
  readonly targets: Gauge<"kind" | "role">;
  readonly up: Gauge<"kind">;
  readonly failing: Gauge<"kind">;
  readonly incomplete: Gauge<"kind">;
  readonly tlsUnverified: Gauge;
  readonly pending: Gauge;
  readonly oldestAge: Gauge;
  readonly catchingUp: Gauge;
  readonly dropped: Counter<"reason">;
  readonly publishFailures: Counter;
}

const SCRAPE_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export function createCollectorMetrics(registry: Registry): CollectorMetrics {
  return { ...scrapeMetrics(registry), ...targetMetrics(registry), ...publishMetrics(registry) };
}

function scrapeMetrics(registry: Registry) {
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
    skipped: new Counter({
      name: "isochrone_collector_skipped_total",
      help: "Pages that were not read in a round, by reason.",
      labelNames: ["kind", "reason"],
      registers,
    }),
    duration: new Histogram({
      name: "isochrone_collector_scrape_duration_seconds",
      help: "Time of a scrape, reading included.",
      labelNames: ["kind"],
      buckets: SCRAPE_BUCKETS,
      registers,
    }),
    roundDuration: new Histogram({
      name: "isochrone_collector_round_duration_seconds",
      help: "Time of a round over all pages.",
      buckets: SCRAPE_BUCKETS,
      registers,
    }),
    bytes: new Counter({
      name: "isochrone_collector_page_bytes_total",
      help: "What was read of pages, after decompression.",
      labelNames: ["kind"],
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
    rowsRefused: new Counter({
      name: "isochrone_collector_rows_refused_total",
      help: "Rows left out because the page may not tell of them, or because they are too long, by reason.",
      labelNames: ["kind", "reason"],
      registers,
    }),
    rowsUnused: new Counter({
      name: "isochrone_collector_rows_unused_total",
      help: "Samples that no graph needs, by reason: unread_metric, not_needed (another row contains it), not_a_value (such as quantiles), repeated.",
      labelNames: ["kind", "reason"],
      registers,
    }),
  } as const;
}

function targetMetrics(registry: Registry) {
  const registers = [registry];
  return {
    targets: new Gauge({
      name: "isochrone_collector_targets",
      help: "Pages known now, those that stand in for another included.",
      labelNames: ["kind", "role"],
      registers,
    }),
    up: new Gauge({
      name: "isochrone_collector_targets_up",
      help: "Pages whose last scrape succeeded.",
      labelNames: ["kind"],
      registers,
    }),
    failing: new Gauge({
      name: "isochrone_collector_targets_failing",
      help: "Pages whose last scrape failed.",
      labelNames: ["kind"],
      registers,
    }),
    incomplete: new Gauge({
      name: "isochrone_collector_targets_incomplete",
      help: "Kubelets' pages that were read last without the usage of all pods: they say so, name no pods, or have none.",
      labelNames: ["kind"],
      registers,
    }),
    tlsUnverified: new Gauge({
      name: "isochrone_collector_tls_unverified",
      help: "1 if certificates of kubelets are not verified.",
      registers,
    }),
  } as const;
}

function publishMetrics(registry: Registry) {
  const registers = [registry];
  return {
    pending: new Gauge({
      name: "isochrone_collector_records_pending",
      help: "Records that wait for the bus.",
      registers,
    }),
    oldestAge: new Gauge({
      name: "isochrone_collector_records_oldest_age_seconds",
      help: "For how long the oldest of them has waited.",
      registers,
    }),
    catchingUp: new Gauge({
      name: "isochrone_collector_records_catching_up",
      help: "1 while what has waited is sent, at a bounded rate.",
      registers,
    }),
    dropped: new Counter({
      name: "isochrone_collector_records_dropped_total",
      help: "Records that the bus didn't take before the buffer was full, by reason.",
      labelNames: ["reason"],
      registers,
    }),
    publishFailures: new Counter({
      name: "isochrone_collector_publish_failures_total",
      help: "Attempts to publish that failed; most are tried again.",
      registers,
    }),
  } as const;
}

/** One collector's share of gauges that several collectors of a process sum up in. */
export class GaugeShare {
  readonly #shares = new Map<
    Gauge,
    Map<string, { readonly labels: Record<string, string>; value: number }>
  >();

  set(gauge: Gauge, labels: Record<string, string>, value: number): void {
    let shares = this.#shares.get(gauge);
    if (shares === undefined) this.#shares.set(gauge, (shares = new Map()));
    const key = JSON.stringify(labels);
    gauge.inc(labels, value - (shares.get(key)?.value ?? 0));
    shares.set(key, { labels, value });
  }

  clear(): void {
    for (const [gauge, shares] of this.#shares)
      for (const { labels, value } of shares.values()) gauge.dec(labels, value);
    this.#shares.clear();
  }
}

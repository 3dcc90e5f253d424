import { Counter, Gauge, Histogram, type Registry } from "prom-client";

/** Labels are queries and reasons, so that series stay few. */
export interface PrometheusMetrics {
  readonly queries: Counter<"query" | "result">;
  readonly failures: Counter<"query" | "reason">;
  readonly warnings: Counter<"query">;
  readonly duration: Histogram<"query">;
  readonly bytes: Counter<"query">;
  readonly samples: Counter<"query">;
  readonly unreadable: Counter<"query">;
  readonly refused: Counter<"query" | "reason">;
  readonly series: Gauge;
  readonly seriesLeftOut: Counter;
  readonly tlsUnverified: Gauge;
  readonly dropped: Counter<"reason">;
}

const DURATION_BUCKETS_S = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export function createPrometheusMetrics(registry: Registry): PrometheusMetrics {
  const counter = <L extends string>(name: string, help: string, labelNames: L[]): Counter<L> =>
    new Counter({ name: `isochrone_collector_prometheus_${name}`, help, labelNames, registers: [registry] });
  return {
    queries: counter("queries_total", "Queries by result.", ["query", "result"]),
    failures: counter("failures_total", "Queries that gave nothing, by reason.", ["query", "reason"]),
    warnings: counter("warnings_total", "Answers of which the server says that parts may be missing.", [
      "query",
    ]),
    duration: new Histogram({
      name: "isochrone_collector_prometheus_query_duration_seconds",
      help: "Time of a query, reading the answer included.",
      labelNames: ["query"],
      buckets: DURATION_BUCKETS_S,
      registers: [registry],
    }),
    bytes: counter("response_bytes_total", "Characters of answers, decompressed.", ["query"]),
    samples: counter("samples_total", "Samples published.", ["query"]),
    unreadable: counter("unreadable_total", "Series and samples of answers that could not be read.", [
      "query",
    ]),
    refused: counter(
      "series_refused_total",
      "Series left out because their target may not tell of them, or because they are too long, by reason.",
      ["query", "reason"],
    ),
    series: new Gauge({
      name: "isochrone_collector_prometheus_series",
      help: "Series followed now.",
      registers: [registry],
    }),
    seriesLeftOut: counter(
      "series_left_out_total",
      "Series beyond the limit, once per answer that has them.",
      [],
    ),
    tlsUnverified: new Gauge({
      name: "isochrone_collector_prometheus_tls_unverified",
      help: "1 when any certificate of the server is taken.",
      registers: [registry],
    }),
    dropped: counter(
      "records_dropped_total",
      "Records that the bus didn't take before the buffer was full, by reason.",
      ["reason"],
    ),
  };
}

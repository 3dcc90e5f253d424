const WATCHED_COUNTERS = {
  missing: ["isochrone_records_missing_total"],
  refused: ["isochrone_aggregator_refused_total", "isochrone_aggregator_http_refused_total"],
  dropped: [
    "isochrone_aggregator_publisher_dropped_total",
    "isochrone_aggregator_event_clients_dropped_total",
  ],
  failed: ["isochrone_aggregator_build_failures_total"],
} as const;

export type CounterName = keyof typeof WATCHED_COUNTERS;

/** Sums over all labels. Throws if a counter is missing, because a check of nothing would pass. */
export function readCounters(page: string): Record<CounterName, number> {
  const sums = new Map<string, number>();
  const known = new Set<string>();
  for (const line of page.split("\n")) {
    const type = /^# TYPE (\S+)/.exec(line);
    if (type !== null) known.add(type[1]!);
    const sample = /^([a-z_]+)(?:\{.*\})? (\S+)$/.exec(line);
    if (sample !== null) sums.set(sample[1]!, (sums.get(sample[1]!) ?? 0) + Number(sample[2]));
  }
  const sum = (names: readonly string[]): number =>
    names.reduce((total, name) => {
      if (!known.has(name)) throw new Error(`/metrics must have ${name}`);
      return total + (sums.get(name) ?? 0);
    }, 0);
  return {
    missing: sum(WATCHED_COUNTERS.missing),
    refused: sum(WATCHED_COUNTERS.refused),
    dropped: sum(WATCHED_COUNTERS.dropped),
    failed: sum(WATCHED_COUNTERS.failed),
  };
}

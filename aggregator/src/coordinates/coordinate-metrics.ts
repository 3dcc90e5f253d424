import { ScrapedMetrics } from "@isochrone/runtime";
import { Histogram, type Registry } from "prom-client";
import { FIT_RESULTS, type CoordinateKeeper } from "./coordinate-keeper.ts";

export function createCoordinateMetrics(registry: Registry, keeper: CoordinateKeeper): void {
  const scraped = new ScrapedMetrics(registry);
  const gauges: readonly (readonly [string, string, () => number | null])[] = [
    [
      "isochrone_coordinate_error",
      "Median relative error of estimates of pairs that the newest fit was not shown; NaN while it isn't known.",
      () => keeper.current()?.info.medianRelativeError ?? null,
    ],
    [
      "isochrone_aggregator_coordinate_age_seconds",
      "Age of the samples of the newest fit, used or too old; NaN before the first.",
      () => seconds(keeper.ageMs()),
    ],
    [
      "isochrone_aggregator_coordinate_pairs",
      "Measured ordered pairs behind the coordinates in use.",
      () => keeper.current()?.info.pairs ?? 0,
    ],
  ];
  for (const [name, help, read] of gauges) scraped.gauge(name, help, read);
  scraped.counters(
    "isochrone_aggregator_coordinate_fits_total",
    "Rounds of fitting coordinates by how they ended; unchanged: there was nothing new to fit.",
    ["result"],
    () => FIT_RESULTS.map((result) => [{ result }, keeper.counts.results[result]]),
  );
  scraped.counters(
    "isochrone_aggregator_coordinate_samples_rejected_total",
    "Samples that no fit used, by reason.",
    ["reason"],
    () => Array.from(keeper.counts.rejected, ([reason, count]) => [{ reason }, count]),
  );
  const duration = new Histogram({
    name: "isochrone_aggregator_coordinate_fit_duration_seconds",
    help: "Time of a fit in its thread.",
    buckets: [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100],
    registers: [registry],
  });
  keeper.onFit((durationMs) => duration.observe(durationMs / 1000));
}

function seconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1000;
}

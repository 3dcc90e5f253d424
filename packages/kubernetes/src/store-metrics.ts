import { ScrapedMetrics } from "@isochrone/runtime";
import type { Registry } from "prom-client";
import type { StoreCounts } from "./adapters/api-server/store-counts.ts";

export function createStoreMetrics(registry: Registry, counts: StoreCounts): void {
  const scraped = new ScrapedMetrics(registry);
  scraped.counters(
    "isochrone_kubernetes_requests_total",
    "Tries of requests to the API server; code is its answer's, or none.",
    ["verb", "kind", "code"],
    () => counts.requests(),
  );
  scraped.counters(
    "isochrone_kubernetes_request_seconds_total",
    "Time until the headers of the answers to these tries.",
    ["verb", "kind"],
    () => counts.requestSeconds(),
  );
  scraped.counters("isochrone_kubernetes_lists_total", "Full lists that informers took in.", ["kind"], () =>
    counts.lists(),
  );
  scraped.counters(
    "isochrone_kubernetes_watch_restarts_total",
    "Watches that went on anew, by reason.",
    ["kind", "reason"],
    () => counts.restarts(),
  );
  scraped.counter(
    "isochrone_kubernetes_throttled_seconds_total",
    "Time that requests waited for our own limit of their rate.",
    () => counts.throttledSeconds,
  );
  scraped.gauges(
    "isochrone_kubernetes_silence_seconds",
    "Time since an informer of the kind heard of the API server: what it shows may be as old.",
    ["kind"],
    () => counts.silenceSeconds(),
  );
}

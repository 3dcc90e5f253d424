import { Counter, Gauge, type Registry } from "prom-client";
import type { LabelledCount, StoreCounts } from "./adapters/api-server/store-counts.ts";

/** Shows on a registry what a service has asked of its API server. */
export function createStoreMetrics(registry: Registry, counts: StoreCounts): void {
  const counter = <L extends string>(
    name: string,
    help: string,
    labelNames: L[],
    read: () => LabelledCount<L>[],
  ): void => {
    const metric = new Counter({
      name: `isochrone_kubernetes_${name}`,
      help,
      labelNames,
      registers: [registry],
      collect() {
        this.reset();
        for (const { labels, value } of read()) this.inc(labels, value);
      },
    });
    void metric;
  };
  counter(
    "requests_total",
    "Tries of requests to the API server; code is its answer's, or none.",
    ["verb", "kind", "code"],
    () => counts.requests(),
  );
  counter(
    "request_seconds_total",
    "Time until the headers of the answers to these tries.",
    ["verb", "kind"],
    () => counts.requestSeconds(),
  );
  counter("lists_total", "Full lists that informers took in.", ["kind"], () => counts.lists());
  counter("watch_restarts_total", "Watches that went on anew, by reason.", ["kind", "reason"], () =>
    counts.restarts(),
  );
  counter("throttled_seconds_total", "Time that requests waited for our own limit of their rate.", [], () => [
    { labels: {}, value: counts.throttledSeconds },
  ]);
  const silence = new Gauge({
    name: "isochrone_kubernetes_silence_seconds",
    help: "Time since an informer of the kind heard of the API server: what it shows may be as old.",
    labelNames: ["kind"],
    registers: [registry],
    collect() {
      this.reset();
      for (const { labels, value } of counts.silenceSeconds()) this.set(labels, value);
    },
  });
  void silence;
}

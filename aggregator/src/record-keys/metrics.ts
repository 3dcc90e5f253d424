import { ScrapedMetrics } from "@isochrone/runtime";
import { Counter, type Registry } from "prom-client";
import { storeFailures } from "../keys/key-keeper.ts";
import type { RecordKeys } from "./record-keys.ts";

export function createUnprovenCounter(registry: Registry): Counter<"topic" | "fault"> {
  return new Counter({
    name: "isochrone_aggregator_unproven_records_total",
    help: "Records on Kafka that were refused because nothing proves who wrote them: unsealed, malformed, unknown_key, forged, or wrong_speaker (the topic is somebody else's).",
    labelNames: ["topic", "fault"],
    registers: [registry],
  });
}

export function createRecordKeyMetrics(registry: Registry, keys: RecordKeys): void {
  const scraped = new ScrapedMetrics(registry);
  scraped.gauge(
    "isochrone_aggregator_record_keys",
    "Keys by which records on Kafka are verified; 2 while one is being replaced. At 0 nothing is read of Kafka.",
    () => keys.count,
  );
  scraped.counters(
    "isochrone_aggregator_record_key_store_failures_total",
    "Reads and writes of the Secret of the keys of records that failed, and writes that somebody else was ahead of.",
    ["reason"],
    () => storeFailures(keys.counts),
  );
}

import type { KafkaBusOptions } from "@isochrone/bus/kafka";
import { tunedEnvironment } from "../components/tuned.ts";

/** Aggregator settings for a test's brokers: a window longer than the run, and short intervals. */
export function aggregatorEnvironment(
  brokers: readonly string[],
  client: KafkaBusOptions["client"],
): Record<string, string> {
  return tunedEnvironment({
    bus: { kind: "kafka", brokers, client, partitions: 6, replicationFactor: brokers.length },
    aggregator: { windowMs: "1h", paneMs: 10_000, buildIntervalMs: "1s" },
    service: { logFormat: "text" },
  });
}

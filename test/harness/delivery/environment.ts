import type { KafkaBusOptions } from "@isochrone/bus/kafka";
import { tunedEnvironment } from "../components/tuned.ts";

/** Settings of an aggregator on a test's brokers: a window that outlasts the run, and short steps. */
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

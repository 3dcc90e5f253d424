import type { KafkaBusOptions } from "@isochrone/bus/kafka";

/** Settings of an aggregator on a test's brokers: a window that outlasts the run, and short steps. */
export function aggregatorEnvironment(
  brokers: readonly string[],
  client: KafkaBusOptions["client"],
): Record<string, string> {
  return {
    ISOCHRONE_BUS_KIND: "kafka",
    ISOCHRONE_BUS_BROKERS: brokers.join(","),
    ISOCHRONE_BUS_CLIENT: client,
    ISOCHRONE_BUS_PARTITIONS: "6",
    ISOCHRONE_BUS_REPLICATION_FACTOR: String(brokers.length),
    ISOCHRONE_AGGREGATOR_WINDOW_MS: "1h",
    ISOCHRONE_AGGREGATOR_PANE_MS: "10s",
    ISOCHRONE_AGGREGATOR_BUILD_INTERVAL_MS: "1s",
    ISOCHRONE_AGGREGATOR_FLUSH_INTERVAL_MS: "1s",
    ISOCHRONE_SERVICE_LOG_FORMAT: "text",
  };
}

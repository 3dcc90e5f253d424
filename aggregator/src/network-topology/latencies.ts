import { KINDS, type ClusterStore, type KubernetesObject } from "@isochrone/kubernetes";
import type { Clock, Logger } from "@isochrone/runtime";
import type { Registry } from "prom-client";
import {
  LATENCY_FAULTS,
  NO_LATENCIES,
  readLatencies,
  type LatencyUse,
  type ReadLatencies,
} from "../domain/graphs/node-latencies.ts";
import { createLatencyMetrics } from "./metrics.ts";
import { PolledObject } from "./polled-object.ts";
import type { NetworkTopologyConfig } from "./settings.ts";

export interface LatenciesOptions {
  readonly config: Pick<NetworkTopologyConfig, "latenciesFrom" | "checkIntervalMs">;
  readonly store: Pick<ClusterStore, "get">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly use: () => LatencyUse;
}

/** Returns null if no ConfigMap is configured. Drops the latencies once it is deleted. */
export function pollLatencies(options: LatenciesOptions): PolledObject<ReadLatencies> | null {
  const { config, logger, registry, use } = options;
  const { latenciesFrom: configMap } = config;
  if (configMap === null) return null;
  const [namespace = "", name = ""] = configMap.split("/");
  const polled = new PolledObject<ReadLatencies>({
    ...options,
    object: { ...KINDS.configMap, namespace, name },
    intervalMs: config.checkIntervalMs,
    none: NO_LATENCIES,
    read: (object) => latenciesOf(object, configMap, logger),
    onUnavailable: (error) =>
      logger.warnOnce("network-topology:latencies-unavailable", "no latencies: access is denied", {
        configMap,
        verb: "get",
        resource: "configmaps",
        error,
      }),
    onError: (error) =>
      logger.warnOnce("network-topology:latencies", "latencies can't be read, trying again", {
        configMap,
        error,
      }),
  });
  createLatencyMetrics(registry, () => polled.current(), use);
  return polled;
}

function latenciesOf(object: KubernetesObject, configMap: string, logger: Logger): ReadLatencies {
  const read = readLatencies(object.data);
  if (read.firstFault !== null) {
    const entries = LATENCY_FAULTS.reduce((sum, fault) => sum + read.faults[fault], 0);
    logger.warn("latencies left out", { configMap, entries, first: read.firstFault });
  }
  return read;
}

import { KINDS, type ClusterStore, type ConfigMap } from "@isochrone/kubernetes";
import { periodic, type Clock, type Logger, type Periodic, type Service } from "@isochrone/runtime";
import { Gauge, type Registry } from "prom-client";
import {
  LATENCY_FAULTS,
  NO_LATENCIES,
  readLatencies,
  type LatencyUse,
  type NodeLatency,
  type ReadLatencies,
} from "../domain/network-topology/node-latencies.ts";
import type { NetworkTopologyConfig } from "./settings.ts";
import { isUnavailable } from "./unavailable.ts";

export interface LatenciesReaderOptions {
  readonly config: Pick<NetworkTopologyConfig, "latenciesFrom" | "checkIntervalMs">;
  readonly store: Pick<ClusterStore, "get">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  /** Of the newest graph. */
  readonly use: () => LatencyUse;
}

/**
 * The latencies that another component keeps in a ConfigMap, read again and again by every replica. While the API server can't be asked what was
 * read last stays; once the ConfigMap is gone they are, too.
 */
export class LatenciesReader implements Service {
  readonly #options: LatenciesReaderOptions;
  readonly #configMap: string;
  readonly #loop: Periodic;
  #read: ReadLatencies = NO_LATENCIES;
  #wasRead = false;
  #resourceVersion: string | undefined;

  /** Null when none are to be read. */
  static of(options: LatenciesReaderOptions): LatenciesReader | null {
    const { latenciesFrom } = options.config;
    return latenciesFrom === null ? null : new LatenciesReader(latenciesFrom, options);
  }

  private constructor(configMap: string, options: LatenciesReaderOptions) {
    this.#configMap = configMap;
    this.#options = options;
    const { clock, logger, registry, config, use } = options;
    const entries: Gauge<"state"> = new Gauge({
      name: "isochrone_network_topology_latencies",
      help: "Latencies of the ConfigMap of another component: pairs that they are the cost of (used), whose own measurement goes before (measured), of nodes that the cluster doesn't have (unknown_node), and entries that were left out (bad_key, bad_value; too_large: all of it).",
      labelNames: ["state"],
      registers: [registry],
      collect: () => {
        const { used, measured, unknownNode } = use();
        entries.set({ state: "used" }, used);
        entries.set({ state: "measured" }, measured);
        entries.set({ state: "unknown_node" }, unknownNode);
        for (const fault of LATENCY_FAULTS) entries.set({ state: fault }, this.#read.faults[fault]);
      },
    });
    this.#loop = periodic({
      clock,
      intervalMs: config.checkIntervalMs,
      immediate: true,
      run: () => this.read(),
      onError: (error) =>
        logger.warnOnce("network-topology:latencies", "latencies can't be read, trying again", {
          configMap,
          error,
        }),
    });
  }

  async start(): Promise<void> {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  current(): readonly NodeLatency[] {
    return this.#read.pairs;
  }

  /** Whether the object was asked for once with an answer: a graph before that would lack what it says. */
  get wasRead(): boolean {
    return this.#wasRead;
  }

  /** One look. Rejects with StoreErrors of the way. */
  async read(): Promise<void> {
    const { store, logger } = this.#options;
    const [namespace = "", name = ""] = this.#configMap.split("/");
    let object: ConfigMap | null = null;
    try {
      object = await store.get({ ...KINDS.configMap, namespace, name });
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      logger.warnOnce("network-topology:latencies-unavailable", "no latencies: access is denied", {
        configMap: this.#configMap,
        verb: "get",
        resource: "configmaps",
        error,
      });
    }
    this.#wasRead = true;
    const { resourceVersion } = object?.metadata ?? {};
    if (object !== null && resourceVersion !== undefined && resourceVersion === this.#resourceVersion) return;
    this.#resourceVersion = resourceVersion;
    this.#read = object === null ? NO_LATENCIES : this.#latenciesOf(object);
  }

  #latenciesOf(object: ConfigMap): ReadLatencies {
    const { logger } = this.#options;
    const read = readLatencies(object.data);
    if (read.firstFault !== null) {
      const entries = LATENCY_FAULTS.reduce((sum, fault) => sum + read.faults[fault], 0);
      logger.warn("latencies left out", { configMap: this.#configMap, entries, first: read.firstFault });
    }
    return read;
  }
}

import type { ClusterStore, EventRecorder, SharedLeadership } from "@isochrone/kubernetes";
import type { Clock, Logger, Part, Random } from "@isochrone/runtime";
import type { Registry } from "prom-client";
import type { PodChanges } from "../adapters/cluster-pods.ts";
import { countedEvents } from "../adapters/counted-events.ts";
import { Terms } from "../leadership/terms.ts";
import { GroupKeeper } from "./group-keeper.ts";
import { createAppGroupMetrics } from "./metrics.ts";
import type { AppGroupMetrics } from "./metrics.ts";

export interface AppGroupControllerConfig {
  readonly appGroupStatus: "isochrone" | "upstream";
  readonly appGroupIntervalMs: number;
  readonly replicaName: string | null;
}

interface AppGroupControllerDeps {
  readonly store: ClusterStore;
  /** Already started. */
  readonly pods: PodChanges;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly leadership: SharedLeadership;
}

/**
 * The only writer of AppGroup status (design 004): scheduling order and number of running pods. The Lease
 * holder works; other replicas wait. Null if upstream's controller writes the status.
 */
export function createAppGroupController(
  config: AppGroupControllerConfig,
  deps: AppGroupControllerDeps,
): AppGroupController | null {
  return config.appGroupStatus === "upstream" ? null : new AppGroupController(config, deps);
}

class AppGroupController {
  readonly parts: readonly Part[];
  readonly #config: AppGroupControllerConfig;
  readonly #deps: AppGroupControllerDeps;
  readonly #metrics: AppGroupMetrics;
  readonly #terms: Terms<GroupKeeper>;
  readonly #leaderStore: ClusterStore;
  readonly #events: EventRecorder;

  constructor(config: AppGroupControllerConfig, deps: AppGroupControllerDeps) {
    this.#config = config;
    this.#deps = deps;
    const { store, clock, logger, registry, leadership } = deps;
    const metrics = createAppGroupMetrics(registry);
    this.#metrics = metrics;
    this.#terms = new Terms({
      leadership,
      begin: () => this.#begin(),
      onTerm: (runs) => metrics.leading.set(runs ? 1 : 0),
    });
    this.#leaderStore = this.#terms.storeOf(store);
    this.#events = countedEvents({
      store: this.#leaderStore,
      replica: config.replicaName,
      clock,
      logger,
      metrics,
    });
    this.parts = [
      { name: "Events", service: this.#events },
      { name: "terms", service: this.#terms },
    ];
  }

  #begin(): GroupKeeper {
    const { pods, clock, random, logger } = this.#deps;
    return new GroupKeeper({
      store: this.#leaderStore,
      pods,
      clock,
      random,
      logger,
      isLeader: () => this.#terms.isLeader(),
      events: this.#events,
      metrics: this.#metrics,
      intervalMs: this.#config.appGroupIntervalMs,
    });
  }
}

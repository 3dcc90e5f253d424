import { electionTiming } from "@isochrone/kubernetes";
import type { ClusterStore, EventRecorder } from "@isochrone/kubernetes";
import type { Clock, Logger, Random, Service } from "@isochrone/runtime";
import type { Registry } from "prom-client";
import type { PodChanges } from "../adapters/cluster-pods.ts";
import { countedEvents } from "../adapters/counted-events.ts";
import { SharedLeadership } from "../leadership.ts";
import { Terms } from "../terms.ts";
import { GroupKeeper } from "./group-keeper.ts";
import { createAppGroupMetrics } from "./metrics.ts";
import type { AppGroupMetrics } from "./metrics.ts";

/** Settings of the controller, as scheduler-plugin's own are called. */
export interface AppGroupControllerConfig {
  readonly appGroupStatus: "isochrone" | "upstream";
  readonly appGroupIntervalMs: number;
  readonly replicaName: string | null;
  readonly replicaNamespace: string;
  readonly leaseDurationMs: number;
  readonly leaseRenewDeadlineMs: number;
  readonly leaseRetryPeriodMs: number;
}

export interface AppGroupControllerDeps {
  readonly store: ClusterStore;
  /** Followed already. */
  readonly pods: PodChanges;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
  /** Of the whole process. @default one of its own */
  readonly leadership?: SharedLeadership;
}

/**
 * The one writer of AppGroup status (004): the order in which workloads are to be scheduled, and how many pods run. One replica works, elected
 * by a Lease; the others wait. Null when upstream's own controller is to write.
 */
export function createAppGroupController(
  config: AppGroupControllerConfig,
  deps: AppGroupControllerDeps,
): Service | null {
  return config.appGroupStatus === "upstream" ? null : new AppGroupController(config, deps);
}

class AppGroupController implements Service {
  readonly #config: AppGroupControllerConfig;
  readonly #deps: AppGroupControllerDeps;
  readonly #metrics: AppGroupMetrics;
  readonly #terms: Terms<GroupKeeper>;
  readonly #leaderStore: ClusterStore;
  readonly #events: EventRecorder;

  constructor(config: AppGroupControllerConfig, deps: AppGroupControllerDeps) {
    this.#config = config;
    this.#deps = deps;
    const { store, clock, logger, registry, leadership = ownLeadership(config, deps) } = deps;
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
  }

  async start(): Promise<void> {
    await this.#terms.start();
  }

  async stop(): Promise<void> {
    await this.#terms.stop(() => this.#events.stop());
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

function ownLeadership(
  config: AppGroupControllerConfig,
  { store, clock, random, logger }: AppGroupControllerDeps,
): SharedLeadership {
  const { replicaName: replica, replicaNamespace: namespace } = config;
  return new SharedLeadership({
    replica,
    namespace,
    timing: electionTiming(config),
    store,
    clock,
    random,
    logger,
  });
}

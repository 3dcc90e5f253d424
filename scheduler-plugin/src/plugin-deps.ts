// What the scheduler-plugin is composed with, beside its settings.
import type { ClusterStore } from "@isochrone/kubernetes";
import type { Clock, Logger, Random } from "@isochrone/runtime";
import type { ServerTlsOptions } from "@isochrone/runtime/http";
import type { Registry } from "prom-client";
import type { DeschedulerDeps } from "./descheduler/descheduler.ts";
import type { DeschedulerConfig } from "./descheduler/decision/settings.ts";
import type { PlannerConfig } from "./planner/settings.ts";
import type { DispatchDeps } from "./dispatch/controller.ts";
import type { DispatchConfig } from "./dispatch/settings.ts";
import type { GraphSource } from "./ports/ports.ts";
import type { ProposalsConfig } from "./proposals/config.ts";
import type { StreamsConfig } from "./streams/settings.ts";
import type { WebhookConfig } from "./webhook/settings.ts";

export interface SchedulerPluginDeps {
  /** The cluster's objects: with them bindings and nominations are seen, and replicas agree. */
  readonly store?: ClusterStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
  /** @default the graph API at `config.graphUrl`, polled */
  readonly graphs?: GraphSource;
  /** Of the webhook that sets the gate; needs a store. @default there is none */
  readonly webhook?: WebhookConfig;
  /** Of the planner of gated pods; needs a store. @default there is none */
  readonly planner?: PlannerConfig;
  /**
   * Of what moves running pods; needs a store, and the planner unless its mode is `paper`.
   * @default there is none
   */
  readonly descheduler?: DeschedulerConfig;
  /** Hears how each move of the descheduler goes on. */
  readonly onMove?: DeschedulerDeps["onMove"];
  /** Of plans for workflows that run, which nobody carries out; needs a store. @default as `planner` says */
  readonly proposals?: ProposalsConfig;
  /** Of the controller of StreamJobs; needs a store. @default there is none */
  readonly streams?: StreamsConfig;
  /** Of what spreads requests over zones; needs a store. @default there is none */
  readonly dispatch?: DispatchConfig;
  /** Reads what zones ask of Services. @default the graph API at `config.graphUrl` */
  readonly readDemand?: DispatchDeps["readDemand"];
  /**
   * Certificates of this process's own keeping, for the extender.
   * @default those of the files in `config`, if there are any
   */
  readonly tls?: ServerTlsOptions;
  /** Of the same cluster, for Leases alone: they must not wait behind other requests. @default `store` */
  readonly leaseStore?: ClusterStore;
  /** For what the planner writes of pods, with a rate limit of its own. @default `store` */
  readonly landingStore?: ClusterStore;
}

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
  /** The cluster's objects; without them no bindings are seen and replicas don't agree. */
  readonly store?: ClusterStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
  /** @default the graph API at `config.graphUrl`, polled */
  readonly graphs?: GraphSource;
  readonly webhook?: WebhookConfig;
  readonly planner?: PlannerConfig;
  /** Descheduler; needs a store, and the planner unless its mode is `paper`. @default none */
  readonly descheduler?: DeschedulerConfig;
  readonly onMove?: DeschedulerDeps["onMove"];
  readonly proposals?: ProposalsConfig;
  readonly streams?: StreamsConfig;
  readonly dispatch?: DispatchConfig;
  /** Reads zones' request rates. @default the graph API at `config.graphUrl` */
  readonly readDemand?: DispatchDeps["readDemand"];
  /** Self-issued certificates for the extender. @default the files in `config`, if any */
  readonly tls?: ServerTlsOptions;
  /** For Leases only, which must not queue behind other requests. @default `store` */
  readonly leaseStore?: ClusterStore;
  /** For the planner's writes to pods, with its own rate limit. @default `store` */
  readonly landingStore?: ClusterStore;
}

import type { ClusterStore } from "@isochrone/kubernetes";
import { createStrategy } from "@isochrone/placement";
import { periodic } from "@isochrone/runtime";
import type { Clock, Logger, Periodic, Random, Service } from "@isochrone/runtime";
import { createHttpApp, listen } from "@isochrone/runtime/http";
import type { HttpApp, ListenAddress, Readiness } from "@isochrone/runtime/http";
import { GraphClient } from "@isochrone/topology/client";
import type { Registry } from "prom-client";
import { addDecisionRoutes } from "./adapters/decision-routes.ts";
import { addExtenderRoutes } from "./adapters/extender-routes.ts";
import { GraphApiSource } from "./adapters/graph-api-source.ts";
import { DecisionLog } from "./domain/decision-log.ts";
import { Ledger } from "./domain/ledger.ts";
import { graphAgeSeconds, Placer } from "./domain/placer.ts";
import { createSchedulerMetrics } from "./metrics.ts";
import type { SchedulerMetrics } from "./metrics.ts";
import type { GraphSource } from "./ports.ts";
import type { SchedulerPluginConfig } from "./settings.ts";

export interface SchedulerPluginDeps {
  /** The cluster's objects; placing pods one by one needs none of them. */
  readonly store?: ClusterStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
  /** @default the graph API at `config.graphUrl`, polled */
  readonly graphs?: GraphSource;
}

export interface SchedulerPlugin extends Service {
  /** The HTTP server; throws before `start`. */
  readonly app: HttpApp;
  /** Where it listens; throws before `start`. */
  address(): ListenAddress;
}

/** Composes the scheduler-plugin; `start` listens. Throws PlacementError for a strategy that can't exist. */
export function createSchedulerPlugin(
  config: SchedulerPluginConfig,
  deps: SchedulerPluginDeps,
): SchedulerPlugin {
  return new SchedulerService(config, deps);
}

class SchedulerService implements SchedulerPlugin {
  readonly #config: SchedulerPluginConfig;
  readonly #deps: SchedulerPluginDeps;
  readonly #metrics: SchedulerMetrics;
  readonly #graphs: GraphSource;
  readonly #ledger: Ledger;
  readonly #decisions: DecisionLog;
  readonly #placer: Placer;
  readonly #gauges: Periodic;
  #listening: { readonly app: HttpApp; readonly address: ListenAddress } | null = null;

  constructor(config: SchedulerPluginConfig, deps: SchedulerPluginDeps) {
    this.#config = config;
    this.#deps = deps;
    const metrics = createSchedulerMetrics(deps.registry);
    this.#metrics = metrics;
    this.#graphs = deps.graphs ?? pollGraphs(config, deps, metrics);
    this.#ledger = new Ledger(config.ledgerMs);
    this.#decisions = new DecisionLog(config.keptDecisions);
    const { strategy, mode, alpha, beta, gamma, delta } = config;
    this.#placer = new Placer({
      graphs: this.#graphs,
      strategy: createStrategy({ strategy, mode, settings: { alpha, beta, gamma, delta } }),
      ledger: this.#ledger,
      decisions: this.#decisions,
      newId: decisionIds(deps.random),
      onDecision: ({ decidedBy, neutral }) => {
        metrics.decisions.inc({ decided_by: decidedBy });
        for (const { part } of neutral) metrics.neutralParts.inc({ part });
      },
    });
    this.#gauges = periodic({
      clock: deps.clock,
      intervalMs: GAUGE_INTERVAL_MS,
      immediate: true,
      run: () => this.#setGauges(),
      onError: (error) => deps.logger.error("gauges can't be set", { error }),
    });
  }

  get app(): HttpApp {
    return this.#started().app;
  }

  address(): ListenAddress {
    return this.#started().address;
  }

  async start(): Promise<void> {
    const { host, port, urlPrefix: prefix } = this.#config;
    await this.#graphs.start();
    const app = await this.#createApp();
    const address = await listen(app, { host, port, setting: "scheduler.port" });
    this.#listening = { app, address };
    this.#gauges.start();
    this.#deps.logger.info("extender listening", { url: address.url + prefix });
  }

  async stop(): Promise<void> {
    await this.#listening?.app.close();
    await this.#gauges.stop();
    await this.#graphs.stop();
  }

  async #createApp(): Promise<HttpApp> {
    const { urlPrefix: prefix, maxBodyBytes: bodyLimitBytes } = this.#config;
    const { clock, logger, registry } = this.#deps;
    const app = await createHttpApp({
      name: "scheduler",
      logger,
      registry,
      bodyLimitBytes,
      ready: () => this.#readiness(),
    });
    addExtenderRoutes(app, { prefix, placer: this.#placer, clock, metrics: this.#metrics });
    addDecisionRoutes(app, this.#decisions);
    return app;
  }

  #readiness(): Readiness {
    return this.#graphs.ready()
      ? { ready: true, reasons: [] }
      : { ready: false, reasons: ["the graphs were not read yet"] };
  }

  #setGauges(): void {
    const { clock } = this.#deps;
    const cluster = this.#graphs.cluster();
    if (cluster !== null)
      this.#metrics.graphAge.set({ graph: "cluster" }, graphAgeSeconds(cluster, clock.now()));
    this.#ledger.expire(clock.monotonic());
    this.#metrics.ledgerEntries.set(this.#ledger.size);
  }

  #started(): { readonly app: HttpApp; readonly address: ListenAddress } {
    if (this.#listening === null)
      throw new Error("the scheduler-plugin has no address before it was started");
    return this.#listening;
  }
}

const GAUGE_INTERVAL_MS = 5_000;

function pollGraphs(
  config: SchedulerPluginConfig,
  deps: SchedulerPluginDeps,
  metrics: SchedulerMetrics,
): GraphSource {
  return new GraphApiSource({
    client: new GraphClient({ baseUrl: config.graphUrl, timeoutMs: config.requestTimeoutMs }),
    refreshMs: config.refreshMs,
    clock: deps.clock,
    logger: deps.logger,
    onFailure: (reason) => metrics.graphRefreshFailures.inc({ reason }),
  });
}

/** Unique among this process's decisions, and very likely among those of its predecessors. */
function decisionIds(random: Random): () => string {
  const run = Math.floor(random.next() * 36 ** 8)
    .toString(36)
    .padStart(8, "0");
  let last = 0;
  return () => `${run}-${++last}`;
}

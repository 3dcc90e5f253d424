import { BufferedPublisher, type Publisher } from "@isochrone/bus";
import {
  periodic,
  type Clock,
  type Logger,
  type Periodic,
  type Random,
  type Service,
} from "@isochrone/runtime";
import { createHttpApp, listen, type HttpApp } from "@isochrone/runtime/http";
import { TOPICS, encodeMetrics } from "@isochrone/telemetry";
import type { Registry } from "prom-client";
import { createHttpPlanSource } from "./adapters/http-plan-source.ts";
import { createPlanCache } from "./adapters/plan-cache.ts";
import { toEngineConfig, type ProbeConfig } from "./config.ts";
import { toBatch } from "./domain/batch.ts";
import { createMeasuringThread } from "./engine/thread.ts";
import { MetricsRecorder } from "./metrics/recorder.ts";
import { PlanKeeper } from "./plan-keeper.ts";
import type {
  Engine,
  EngineConfig,
  EngineSnapshot,
  MeasuringThread,
  PlanSource,
  ProbePlan,
} from "./ports.ts";

/** What waits for the bus while it is away: about an hour of a node's records. */
const MAX_RECORDS = 400;
const MAX_BYTES = 16 * 1024 * 1024;
/** How long the last records may take to leave when the probe stops. Milliseconds. */
const CLOSE_DEADLINE_MS = 2000;

export interface ProbeDeps {
  readonly bus: Publisher;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
  /** @default the aggregator's graph API */
  readonly planSource?: PlanSource;
  /** A thread that other probes of the process use too; it is not closed with the probe. @default one of its own */
  readonly thread?: MeasuringThread;
}

/** The probe of one node. */
export interface Probe extends Service {
  /** Where its echo responder listens; 0 before start. */
  readonly udpPort: number;
  readonly tcpPort: number;
  /** Asks for the plan now instead of at the next interval. */
  refreshPlan(): void;
  ready(): { readonly ready: boolean; readonly reasons: readonly string[] };
}

/**
 * Measures the peers that the plan names, publishes what it sees, and answers peers that measure this node.
 * @throws ProbeError `probe_config_invalid`
 */
export function createProbe(config: ProbeConfig, deps: ProbeDeps): Probe {
  return new ProbeService(config, deps);
}

class ProbeService implements Probe {
  readonly #config: ProbeConfig;
  readonly #engineConfig: EngineConfig;
  readonly #deps: ProbeDeps;
  readonly #thread: MeasuringThread;
  readonly #recorder: MetricsRecorder;
  readonly #publisher: BufferedPublisher;
  readonly #keeper: PlanKeeper;
  readonly #refresh: Periodic;
  #engine: Engine | null = null;
  #app: HttpApp | null = null;
  #threadRestarts = 0;

  constructor(config: ProbeConfig, deps: ProbeDeps) {
    this.#config = config;
    this.#engineConfig = toEngineConfig(config);
    this.#deps = { ...deps, logger: deps.logger.child({ node: config.node }) };
    this.#thread = deps.thread ?? createMeasuringThread(deps);
    this.#recorder = new MetricsRecorder({ ...config, registry: deps.registry });
    this.#publisher = this.#createPublisher();
    this.#keeper = this.#createKeeper();
    this.#refresh = periodic({
      clock: deps.clock,
      intervalMs: config.planRefreshMs,
      immediate: true,
      run: (signal) => this.#refreshOnce(signal),
      onError: (error) => this.#deps.logger.warnOnce("plan-refresh", "plan refresh failed", { error }),
    });
  }

  get udpPort(): number {
    return this.#engine?.udpPort ?? 0;
  }

  get tcpPort(): number {
    return this.#engine?.tcpPort ?? 0;
  }

  async start(): Promise<void> {
    if (this.#engine !== null) return;
    this.#engine = await this.#thread.createEngine(this.#engineConfig, {
      onSnapshot: (snapshot) => this.#publish(snapshot),
    });
    await this.#keeper.restore();
    if (this.#config.httpPort > 0) await this.#listen(this.#config.httpPort);
    this.#refresh.start();
    this.#deps.logger.info("probe started", { udpPort: this.udpPort, tcpPort: this.tcpPort });
  }

  async stop(): Promise<void> {
    await this.#refresh.stop();
    await this.#app?.close();
    this.#app = null;
    await this.#engine?.stop();
    this.#engine = null;
    await this.#publisher.close(CLOSE_DEADLINE_MS);
    if (this.#deps.thread === undefined) await this.#thread.close();
    this.#recorder.close();
  }

  refreshPlan(): void {
    this.#refresh.trigger();
  }

  ready(): { ready: boolean; reasons: string[] } {
    const reasons: string[] = [];
    if (this.#engine === null) reasons.push("the measuring engine isn't open");
    if (this.#keeper.plan === null) reasons.push("no probe plan yet");
    return { ready: reasons.length === 0, reasons };
  }

  #publish(snapshot: EngineSnapshot): void {
    const { node } = this.#config;
    this.#recorder.record(snapshot);
    this.#countRestarts();
    const zone = this.#config.zone ?? this.#keeper.plan?.zone ?? null;
    const region = this.#config.region ?? this.#keeper.plan?.region ?? null;
    if (snapshot.flows.length === 0) return;
    this.#publisher.offer(TOPICS.probe, node, encodeMetrics(toBatch({ node, zone, region }, snapshot)));
  }

  /** The thread is shared: each probe reports what it saw of its restarts. */
  #countRestarts(): void {
    const { restarts } = this.#thread;
    this.#recorder.families.threadRestarts.add(
      { source_node: this.#config.node },
      restarts - this.#threadRestarts,
    );
    this.#threadRestarts = restarts;
  }

  #takePlan(plan: ProbePlan): void {
    const { node } = this.#config;
    if (plan.identity !== this.#engineConfig.identity) {
      this.#deps.logger.warnOnce(
        "plan-identity",
        "probe plan knows this node by another address; its peers' packets will be refused",
        {
          planIdentity: plan.identity,
          ownIdentity: this.#engineConfig.identity,
        },
      );
    }
    this.#recorder.setPeers(plan.peers, this.#config.zone ?? plan.zone ?? "");
    this.#engine?.setPeers(plan.peers);
    this.#deps.logger.debug("probe plan in force", { node, version: plan.version, peers: plan.peers.length });
  }

  async #refreshOnce(signal: AbortSignal): Promise<void> {
    await this.#keeper.refresh(signal);
    this.#recorder.families.planAge.set({ source_node: this.#config.node }, this.#keeper.ageSeconds);
  }

  async #listen(port: number): Promise<void> {
    const { logger, registry } = this.#deps;
    this.#app = await createHttpApp({
      name: "probe",
      logger,
      registry,
      bodyLimitBytes: 1024,
      ready: () => this.ready(),
    });
    await listen(this.#app, { host: this.#config.bindAddress, port, setting: "probe.httpPort" });
  }

  #createPublisher(): BufferedPublisher {
    const { bus, clock, random } = this.#deps;
    const { node } = this.#config;
    return new BufferedPublisher({
      publisher: bus,
      source: `probe/${node}`,
      clock,
      random,
      maxRecords: MAX_RECORDS,
      maxBytes: MAX_BYTES,
      onDropped: (reason, count) =>
        this.#recorder.families.recordsDropped.add({ source_node: node, reason }, count),
    });
  }

  #createKeeper(): PlanKeeper {
    const { node, maxPeers, aggregatorUrl, planCachePath } = this.#config;
    const { clock, logger, planSource } = this.#deps;
    const labels = { source_node: node };
    return new PlanKeeper({
      source: planSource ?? createHttpPlanSource({ aggregatorUrl, node }),
      cache: createPlanCache(planCachePath),
      rules: { node, maxPeers },
      clock,
      logger,
      onPlan: (plan) => this.#takePlan(plan),
      onRefused: (reason) => this.#recorder.families.planRefused.add({ ...labels, reason }, 1),
      onUnreachable: () => this.#recorder.families.planErrors.add(labels, 1),
    });
  }
}

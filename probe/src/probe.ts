import { BufferedPublisher, type Publisher } from "@isochrone/bus";
import { readCardBytes } from "@isochrone/kernel-sockets";
import { jsonFile, composeServices } from "@isochrone/runtime";
import type { Clock, ComposedService, Fetch, Logger, Part, Periodic, Random } from "@isochrone/runtime";
import { createPages } from "@isochrone/runtime/pages";
import { TOPICS, encodeMetrics } from "@isochrone/telemetry";
import type { Registry } from "prom-client";
import { createHttpPlanSource } from "./adapters/http-plan-source.ts";
import { createHttpLeases } from "./bandwidth/http-leases.ts";
import { BandwidthService } from "./bandwidth/service.ts";
import { toEngineConfig } from "./config.ts";
import { toBandwidthBatch, toBatch, toCardBatch, type BatchSource } from "./domain/batch.ts";
import { createMeasuringThreads } from "./measuring-threads.ts";
import { KeyKeeper } from "./keys/key-keeper.ts";
import { MetricsRecorder } from "./metrics/recorder.ts";
import { PlanKeeper } from "./plan-keeper.ts";
import { planRefresh } from "./plan-refresh.ts";
import type {
  BandwidthLeases,
  BandwidthMeasurement,
  CardBytes,
  Engine,
  EngineConfig,
  EngineSnapshot,
  MeasuringThreads,
  PlanSource,
  ProbePlan,
} from "./ports/ports.ts";
import type { ProbeConfig } from "./settings.ts";

const MAX_PLAN_BYTES = 1_048_576;

const MAX_BYTES = 16 * 1024 * 1024;
/** Spreads the backlog of all probes when the bus returns. */
const CATCH_UP_SPREAD_MS = 10_000;
const CLOSE_DEADLINE_MS = 2000;

interface ProbeDeps {
  readonly bus: Publisher;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly planSource?: PlanSource;
  readonly bandwidthLeases?: BandwidthLeases;
  /** Reads the cards' counters; only with hostNetwork. @default from the kernel */
  readonly readCards?: () => Promise<readonly CardBytes[]>;
  readonly fetch?: Fetch;
  /** Threads shared with other probes of the process; not closed with the probe. @default its own */
  readonly thread?: MeasuringThreads;
}

export interface Probe extends ComposedService {
  readonly udpPort: number;
  readonly tcpPort: number;
  readonly bandwidthPort: number;
  refreshPlan(): void;
  ready(): { readonly ready: boolean; readonly reasons: readonly string[] };
}

export function createProbe(config: ProbeConfig, deps: ProbeDeps): Probe {
  return new ProbeService(config, deps);
}

class ProbeService implements Probe {
  readonly #config: ProbeConfig;
  readonly #engineConfig: EngineConfig;
  readonly #deps: ProbeDeps;
  readonly #thread: MeasuringThreads;
  readonly #recorder: MetricsRecorder;
  readonly #publisher: BufferedPublisher;
  readonly #keeper: PlanKeeper;
  readonly #keys: KeyKeeper;
  readonly #refresh: Periodic;
  readonly #service: ComposedService;
  #engine: Engine | null = null;
  #bandwidth: BandwidthService | null = null;
  #threadRestarts = 0;

  constructor(config: ProbeConfig, deps: ProbeDeps) {
    this.#config = config;
    this.#engineConfig = toEngineConfig(config);
    this.#deps = { ...deps, logger: deps.logger.child({ node: config.node }) };
    this.#thread = deps.thread ?? createMeasuringThreads({ ...deps, place: "main" });
    this.#recorder = new MetricsRecorder({
      ...config,
      methods: this.#engineConfig.methods,
      registry: deps.registry,
    });
    this.#publisher = this.#createPublisher();
    this.#keeper = this.#createKeeper();
    this.#keys = this.#createKeyKeeper();
    this.#refresh = planRefresh({
      clock: deps.clock,
      random: deps.random,
      intervalMs: config.planRefreshMs,
      run: (signal) => this.#refreshOnce(signal),
      onError: (error) => this.#deps.logger.warnOnce("plan-refresh", "plan refresh failed", { error }),
    });
    this.#service = composeServices([
      { name: "metrics", service: { stop: () => this.#recorder.close() } },
      {
        name: "measuring thread",
        service: deps.thread === undefined ? { stop: () => this.#thread.close() } : null,
      },
      { name: "publisher", service: { stop: () => this.#publisher.close(CLOSE_DEADLINE_MS) } },
      { name: "engine", service: { start: () => this.#openEngine(), stop: () => this.#closeEngine() } },
      {
        name: "bandwidth tests",
        service: config.bandwidth
          ? { start: () => this.#startBandwidth(), stop: () => this.#bandwidth?.stop() }
          : null,
      },
      { name: "plan cache", service: { start: () => this.#keeper.restore() } },
      {
        name: "pages",
        service:
          config.httpPort > 0
            ? createPages({
                ...deps,
                name: "probe",
                ready: () => this.ready(),
                host: config.bindAddress,
                port: config.httpPort,
                setting: "probe.httpPort",
              })
            : null,
      },
      { name: "plan refresh", service: this.#refresh },
    ]);
  }

  get parts(): readonly Part[] {
    return this.#service.parts;
  }

  start(): Promise<void> {
    return this.#service.start();
  }

  stop(): Promise<void> {
    return this.#service.stop();
  }

  get udpPort(): number {
    return this.#engine?.udpPort ?? 0;
  }

  get tcpPort(): number {
    return this.#engine?.tcpPort ?? 0;
  }

  get bandwidthPort(): number {
    return this.#bandwidth?.port ?? 0;
  }

  async #openEngine(): Promise<void> {
    await this.#keys.load();
    const { keys, signingKeyId } = this.#keys;
    this.#engine = await this.#thread.createEngine(
      { ...this.#engineConfig, keys, signingKeyId },
      { onSnapshot: (snapshot) => this.#publish(snapshot) },
    );
    this.#showSigningKey(signingKeyId);
    this.#deps.logger.info("probe started", { udpPort: this.udpPort, tcpPort: this.tcpPort });
  }

  async #closeEngine(): Promise<void> {
    const engine = this.#engine;
    this.#engine = null;
    await engine?.stop();
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
    if (snapshot.flows.length === 0) return;
    this.#publisher.offer(TOPICS.probe, node, encodeMetrics(toBatch(this.#batchSource(), snapshot)));
    this.#recordPublisher({ source_node: node });
    if (this.#config.hostNetwork) void this.#publishCards();
  }

  /** Never fails: without a readable interface there are no cards. */
  async #publishCards(): Promise<void> {
    const { clock, readCards = readCardBytes } = this.#deps;
    const cards = await readCards();
    if (cards.length === 0 || this.#engine === null) return;
    const batch = toCardBatch(this.#batchSource(), cards, clock.now());
    this.#publisher.offer(TOPICS.probe, this.#config.node, encodeMetrics(batch));
  }

  #publishBandwidth(measurement: BandwidthMeasurement): void {
    this.#recorder.recordBandwidth(measurement);
    const batch = toBandwidthBatch(this.#batchSource(), measurement);
    this.#publisher.offer(TOPICS.probe, this.#config.node, encodeMetrics(batch));
  }

  #batchSource(): BatchSource {
    const zone = this.#config.zone ?? this.#keeper.plan?.zone ?? null;
    const region = this.#config.region ?? this.#keeper.plan?.region ?? null;
    return { node: this.#config.node, zone, region };
  }

  /** If its port cannot be opened, the probe continues with latency only. */
  async #startBandwidth(): Promise<void> {
    const { bandwidthLeases, ...deps } = this.#deps;
    const config = this.#config;
    const { keys, signingKeyId } = this.#keys;
    const service = new BandwidthService(
      {
        node: config.node,
        identity: this.#engineConfig.identity,
        bindAddress: config.bindAddress,
        port: config.bandwidthPort,
        intervalMs: config.bandwidthIntervalMs,
        bytesPerHour: config.bandwidthHourlyBytes,
        maxBitsPerSecond: config.bandwidthMaxBitsPerSecond,
        dscp: config.dscp,
        acceptTranslatedSource: config.acceptTranslatedSource,
        hostNetwork: config.hostNetwork,
      },
      { keys, signingKeyId },
      {
        ...deps,
        doorbell: this.#thread.doorbell,
        leases: bandwidthLeases ?? createHttpLeases({ ...config, fetch: this.#deps.fetch }),
        onMeasurement: (measurement) => this.#publishBandwidth(measurement),
        onReceived: (counts) => this.#recorder.recordReceived(counts),
        onLeaseError: () => this.#recorder.families.bandwidthLeaseErrors.add({ source_node: config.node }, 1),
        onNic: ({ capacityBitsPerSecond }) => {
          if (capacityBitsPerSecond === null) return;
          const labels = { source_node: config.node };
          this.#recorder.families.bandwidthCapacity.set(labels, capacityBitsPerSecond / 8);
        },
      },
    );
    try {
      await service.start();
      this.#bandwidth = service;
    } catch (error) {
      await service.stop();
      this.#deps.logger.warn("no bandwidth tests", { error });
    }
  }

  /** The thread is shared: each probe reports the restarts it saw. */
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
    this.#keys.plan(plan.signingKeyId);
    this.#recorder.setPeers(plan.peers, this.#config.zone ?? plan.zone ?? "");
    this.#engine?.setPeers(plan.peers);
    this.#bandwidth?.setPeers(plan.peers);
    this.#deps.logger.debug("probe plan in force", { node, version: plan.version, peers: plan.peers.length });
  }

  /** Keys first: the plan may name a new one. */
  async #refreshOnce(signal: AbortSignal): Promise<number> {
    await this.#keys.refresh();
    const leastMs = await this.#keeper.refresh(signal);
    this.#recorder.families.planAge.set({ source_node: this.#config.node }, this.#keeper.ageSeconds);
    return leastMs;
  }

  #showSigningKey(signingKeyId: number): void {
    const labels = { source_node: this.#config.node };
    this.#recorder.families.signingKey.removeWhere(labels);
    this.#recorder.families.signingKey.set({ ...labels, key_id: String(signingKeyId) }, 1);
  }

  #recordPublisher(self: { readonly source_node: string }): void {
    const { recordsPending, recordsOldestAge, catchingUp } = this.#recorder.families;
    const { pending, oldestAgeMs, isCatchingUp } = this.#publisher;
    recordsPending.set(self, pending);
    recordsOldestAge.set(self, oldestAgeMs / 1000);
    catchingUp.set(self, isCatchingUp ? 1 : 0);
  }

  #createPublisher(): BufferedPublisher {
    const { bus, clock, random } = this.#deps;
    const { node } = this.#config;
    return new BufferedPublisher({
      publisher: bus,
      source: `probe/${node}`,
      clock,
      random,
      maxRecords: this.#config.bufferRecords,
      maxBytes: MAX_BYTES,
      maxAgeMs: this.#config.bufferMaxAgeMs,
      catchUpRecordsPerSecond: this.#config.catchUpRecordsPerSecond,
      catchUpSpreadMs: CATCH_UP_SPREAD_MS,
      onDropped: (reason, count) =>
        this.#recorder.families.recordsDropped.add({ source_node: node, reason }, count),
    });
  }

  #createKeyKeeper(): KeyKeeper {
    const { logger } = this.#deps;
    return new KeyKeeper({
      config: this.#config,
      logger,
      onChange: (keys, signingKeyId) => {
        this.#engine?.setKeys(keys, signingKeyId);
        this.#bandwidth?.setKeys(keys, signingKeyId);
        this.#showSigningKey(signingKeyId);
      },
      onFault: (reason) =>
        this.#recorder.families.keyErrors.add({ source_node: this.#config.node, reason }, 1),
    });
  }

  #createKeeper(): PlanKeeper {
    const { node, maxPeers, aggregatorUrl, planCachePath } = this.#config;
    const { clock, logger, planSource } = this.#deps;
    const labels = { source_node: node };
    return new PlanKeeper({
      source: planSource ?? createHttpPlanSource({ aggregatorUrl, node, fetch: this.#deps.fetch }),
      cache: jsonFile(planCachePath, MAX_PLAN_BYTES),
      rules: { node, maxPeers },
      keyState: () => this.#keys.state,
      clock,
      logger,
      onPlan: (plan) => this.#takePlan(plan),
      onRefused: (reason) => this.#recorder.families.planRefused.add({ ...labels, reason }, 1),
      onUnreachable: () => this.#recorder.families.planErrors.add(labels, 1),
    });
  }
}

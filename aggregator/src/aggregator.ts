import { randomBytes } from "node:crypto";
import { otlpHttpIngest } from "@isochrone/bus/otlp-http";
import { createEventRecorder, type EventRecorder, type Leadership } from "@isochrone/kubernetes";
import {
  composeServices,
  periodic,
  type ComposedService,
  type Part,
  type Periodic,
  type Service,
} from "@isochrone/runtime";
import {
  listen,
  serverTlsOf,
  type HttpApp,
  type ListenAddress,
  type Readiness,
} from "@isochrone/runtime/http";
import { DeclarationRights, STALE_AFTER_WINDOWS } from "@isochrone/topology";
import { createBills } from "./bill/create-bills.ts";
import { CoordinateWorker } from "./coordinates/coordinate-worker.ts";
import { refusedDeclarationEvent } from "./adapters/declared-objects.ts";
import { PodProbeAddresses } from "./adapters/pod-probe-addresses.ts";
import { StoreClusterWatch } from "./adapters/store-cluster-watch.ts";
import { createClusterControllers } from "./cluster-controllers.ts";
import { CoordinateKeeper } from "./coordinates/coordinate-keeper.ts";
import { createCoordinateMetrics } from "./coordinates/coordinate-metrics.ts";
import { EventHistory } from "./domain/graphs/event-history.ts";
import { Tables } from "./domain/graphs/tables.ts";
import { GraphKeeper } from "./domain/graphs/graph-keeper.ts";
import { createGraphApi } from "./http/app.ts";
import { EventStream } from "./http/event-stream.ts";
import { createIntake } from "./intake/create-intake.ts";
import type { AggregatorDependencies } from "./dependencies.ts";
import type { Intake } from "./intake/intake.ts";
import { leaderStore, ownerStore } from "./replication/leadership.ts";
import { createAggregatorMetrics, type AggregatorMetrics } from "./metrics.ts";
import type { ProbeAddresses } from "./ports/ports.ts";
import { Declarations } from "./network-topology/declarations.ts";
import { Probing, type PastTest } from "./probing/probing.ts";
import { createRecordProofs, type ProvenBus } from "./record-keys/create-record-proofs.ts";
import { Replication } from "./replication/replication.ts";
import { costMethodsOf, type AggregatorConfig } from "./settings.ts";
import { historyOf, shapeOf, turnsOf } from "./windows.ts";
import { annotatedObjectsOf, ownershipOf, writerOf } from "./writers/sources.ts";
import { createStreams } from "./streams/create-streams.ts";
import { createSpeaking, type Speaking } from "./speaking.ts";
import { createWriters } from "./writers/writers.ts";

export interface Aggregator extends ComposedService {
  /** The server, for requests without a socket. Throws before `start`. */
  readonly app: HttpApp;
  address(): ListenAddress;
}

/** Maximum ratio of a body's size to its compressed size. */
const MAX_INFLATION = 4;

/** Bus -> windows -> graphs -> graph API. */
export function createAggregator(config: AggregatorConfig, deps: AggregatorDependencies): Aggregator {
  return new RunningAggregator(config, deps);
}

class RunningAggregator implements Aggregator {
  readonly #config: AggregatorConfig;
  readonly #deps: AggregatorDependencies;
  readonly #watch: StoreClusterWatch;
  readonly #tables: Tables;
  readonly #speaking: Speaking;
  readonly #schedulerPlugin: ReturnType<typeof createStreams>;
  readonly #proven: ProvenBus;
  readonly #intake: Intake;
  readonly #keeper: GraphKeeper;
  readonly #pastGraphs: ReturnType<typeof historyOf>;
  readonly #bills: ReturnType<typeof createBills>;
  readonly #coordinates: CoordinateKeeper;
  readonly #events: EventStream;
  readonly #metrics: AggregatorMetrics;
  readonly #builder: Periodic;
  readonly #replication: Replication | null;
  readonly #probing: Probing;
  readonly #recorder: EventRecorder;
  readonly #service: ComposedService;
  readonly #declarations: Declarations | null;
  readonly #epoch: string;
  #isLeading = false;
  #app: HttpApp | null = null;
  #address: ListenAddress | null = null;

  constructor(config: AggregatorConfig, deps: AggregatorDependencies) {
    const { clock, random, logger, registry } = deps;
    this.#config = config;
    this.#deps = deps;
    this.#epoch = Math.floor(random.next() * 2 ** 48).toString(36) + Math.floor(clock.now()).toString(36);
    this.#watch = this.#createWatch(() => leadership.isLeader());
    this.#tables = new Tables(shapeOf(config), config, costMethodsOf(config));
    const rule = { methods: costMethodsOf(config), quantile: config.costQuantile ?? "p50" } as const;
    this.#keeper = new GraphKeeper(this.#tables, rule, new EventHistory(this.#epoch, config.eventHistory));
    this.#pastGraphs = historyOf(config);
    this.#bills = createBills(config, registry, () => this.#keeper.newest, clock, deps.prices);
    this.#replication = Replication.of(config, {
      ...deps,
      store: deps.leaseStore ?? deps.store,
      url: () => this.#address?.url ?? null,
    });
    const leadership = deps.leadership ?? this.#replication?.leadership ?? { isLeader: () => true };
    this.#proven = this.#createProven(leadership);
    this.#schedulerPlugin = createStreams(config, deps, () => this.#keeper.newest);
    this.#speaking = createSpeaking(config, deps, this.#watch, this.#schedulerPlugin.flowPlans);
    const parts = { tables: this.#tables, speaking: this.#speaking, proven: this.#proven, leadership };
    this.#intake = createIntake(config, deps, { ...parts, watch: this.#watch });
    this.#probing = new Probing({
      ...deps,
      store: leaderStore(deps.store, leadership),
      config,
      watch: this.#watch,
      addresses: deps.addresses ?? this.#podAddresses(),
      leadership,
      randomBytes: deps.randomBytes ?? randomBytes,
    });
    this.#coordinates = new CoordinateKeeper({
      ...deps,
      fitter: deps.coordinates ?? new CoordinateWorker({ clock, timeoutMs: config.coordinateTimeoutMs }),
      intervalMs: config.coordinateIntervalMs ?? config.windowMs / 2,
      maxAgeMs: STALE_AFTER_WINDOWS * config.windowMs,
    });
    createCoordinateMetrics(registry, this.#coordinates);
    this.#recorder = createEventRecorder({
      ...deps,
      component: "aggregator",
      ...(config.replicaName === null ? {} : { instance: config.replicaName }),
    });
    const { networkTopology } = deps.controllers ?? {};
    this.#declarations =
      networkTopology === undefined
        ? null
        : new Declarations({ ...deps, config: networkTopology, use: () => this.#keeper.latencyUse });
    this.#events = new EventStream({
      keeper: this.#keeper,
      clock,
      maxClients: config.maxEventClients,
      maxBufferedBytes: config.eventClientBufferBytes,
      onDropped: (reason) => this.#metrics.eventClientsDropped.inc({ reason }),
    });
    this.#metrics = createAggregatorMetrics(registry, {
      intake: this.#intake,
      tables: this.#tables,
      graphAgeMs: () => (this.#keeper.newest === null ? null : clock.now() - this.#keeper.newest.builtAtMs),
      eventClients: () => this.#events.clients,
      ambiguousNames: () => this.#speaking.facts.ambiguousNames,
      graphs: this.#keeper,
      refusedDeclarations: () =>
        new Map([...this.#watch.refusedDeclarations(), ["far_pods", this.#keeper.channelsTooFar]]),
    });
    this.#builder = periodic({
      clock,
      intervalMs: config.buildIntervalMs,
      immediate: true,
      run: () => this.#build(),
      onError: (error) => {
        this.#metrics.buildFailures.inc();
        logger.error("building the graphs failed", { error });
      },
    });
    this.#service = this.#compose(this.#createControllers(leadership), this.#createWriters(leadership));
  }

  get app(): HttpApp {
    if (this.#app === null) throw new Error("the aggregator has no server before it has started");
    return this.#app;
  }

  address(): ListenAddress {
    if (this.#address === null) throw new Error("the aggregator has no address before it has started");
    return this.#address;
  }

  async #createServer(): Promise<HttpApp> {
    const { logger, registry, clock, page, addRoutes, certificates = null } = this.#deps;
    const { bus, keys } = this.#proven;
    const config = this.#config;
    const app = await createGraphApi({
      logger,
      registry,
      tls:
        certificates === null
          ? serverTlsOf(config, clock)
          : { current: () => certificates.current(), checkMs: certificates.checkMs, clock },
      gate: this.#speaking.gate,
      isMetricsOpen: this.#deps.access?.isMetricsOpen ?? true,
      bodyLimitBytes: config.bodyLimitBytes,
      maxEventClients: config.maxEventClients,
      allowedHosts: { hosts: config.allowedHosts, setting: "aggregator.allowedHosts" },
      epoch: this.#epoch,
      keeper: this.#keeper,
      pastGraphs: this.#pastGraphs,
      bills: this.#bills,
      replica: config.replicaName,
      nowMs: () => clock.now(),
      events: this.#events,
      plan: this.#probing.planSources,
      leases: this.#probing.leaseDesk,
      recordKeys:
        keys === null
          ? null
          : {
              keyFor: (speaker) => keys.keyFor(speaker),
              speakerOf: ({ principal }) => this.#speaking.proven(principal),
            },
      replication: this.#replication,
      refusals: this.#tables.refusals,
      unused: this.#intake.counts.recentUnused,
      clusters: this.#speaking.clusters,
      ...this.#schedulerPlugin,
      page,
      addRoutes,
      ready: () => this.#ready(),
    });
    const { speakerOf } = this.#speaking;
    otlpHttpIngest(app, {
      publisher: bus,
      ...(speakerOf === undefined
        ? {}
        : { speakerOf: ({ principal }, source) => speakerOf(principal, source) }),
      maxBodyBytes: config.bodyLimitBytes,
      maxDecompressedBytes: MAX_INFLATION * config.bodyLimitBytes,
      onRefused: (reason, message, remoteAddress) => {
        this.#metrics.httpRefused.inc({ reason });
        logger.warnOnce(`http:${remoteAddress}:${reason}`, "telemetry request refused", {
          remoteAddress,
          reason,
          message,
        });
      },
    });
    return app;
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

  #compose(controllers: ComposedService | null, writers: Service | null): ComposedService {
    const replication = this.#replication;
    return composeServices([
      { name: "cluster watch", service: this.#watch },
      ...(replication?.leases ?? []),
      ...this.#probing.parts,
      ...this.#proven.parts,
      { name: "intake", service: this.#intake },
      { name: "graph API", service: { start: () => this.#listen(), stop: () => this.#app?.close() } },
      // Stop it before the server, which waits for its connections.
      { name: "event stream", service: { stop: () => this.#events.close() } },
      ...(replication?.elections ?? []),
      { name: "coordinates", service: { stop: () => this.#coordinates.close() } },
      { name: "Events", service: this.#recorder },
      { name: "streams", service: this.#config.decisionsUrl === null ? null : this.#schedulerPlugin.streams },
      { name: "traffic", service: this.#schedulerPlugin.traffic },
      { name: "controllers", service: controllers },
      { name: "declarations", service: this.#declarations },
      { name: "graph builder", service: this.#builder },
      { name: "annotations", service: writers },
    ]);
  }

  async #listen(): Promise<void> {
    const { host, port } = this.#config;
    this.#app = await this.#createServer();
    this.#address = await listen(this.#app, { host, port, setting: "aggregator.port" });
    this.#deps.logger.info("graph API is listening", { url: this.#address.url });
  }

  async #build(): Promise<void> {
    // Before the first lists are complete, a graph would lack most nodes.
    if (this.#watch.pending().length > 0 || this.#intake.pending().length > 0) return;
    if (this.#declarations !== null && this.#declarations.pending().length > 0) return;
    const { clock } = this.#deps;
    this.#noteLeadership();
    const beganMs = clock.monotonic();
    const cluster = this.#watch.current();
    const inputs = {
      cluster,
      nowMs: clock.now(),
      isWanted: this.#probing.wanted(),
      coordinates: this.#coordinates.current(),
      look: this.#watch,
      ...this.#declarations?.inputs(),
    };
    const graphs = await this.#keeper.buildInTurns(inputs, turnsOf(clock));
    this.#metrics.buildSeconds.observe((clock.monotonic() - beganMs) / 1000);
    this.#coordinates.offer(graphs.cluster("full"));
    this.#pastGraphs.keep(graphs);
    await this.#bills.keep(graphs);
  }

  /** Loads the previous leader's tested pairs and used budgets. */
  #noteLeadership(): void {
    const isLeading = this.#replication?.leadership.isLeader() ?? false;
    if (isLeading && !this.#isLeading) this.#probing.rememberTests(this.#pastTests());
    this.#isLeading = isLeading;
  }

  *#pastTests(): Generator<PastTest> {
    for (const pair of this.#tables.bandwidth.sorted()) {
      const burst = pair.achieved(this.#deps.clock.now());
      if (burst !== null) yield { source: pair.source, target: pair.target, observedMs: burst.observedMs };
    }
  }

  /** @param isLeader only the leader reports what all replicas see */
  #createWatch(isLeader: () => boolean): StoreClusterWatch {
    const { bandwidthResource, istioRouting, declareFor } = this.#config;
    return new StoreClusterWatch({
      ...this.#deps,
      bandwidthResource,
      istioRouting,
      declarationRights: DeclarationRights.of(declareFor),
      onRefusedDeclarations: (object, refused) => {
        if (isLeader()) this.#recorder.event(object, refusedDeclarationEvent(refused));
      },
    });
  }

  #createProven(leadership: Leadership): ProvenBus {
    const { store, isShared = false, recordKeyStore: keyStore, randomBytes: draw = randomBytes } = this.#deps;
    return createRecordProofs({
      ...this.#deps,
      config: this.#config,
      store: leaderStore(store, leadership),
      leadership,
      isShared,
      keyStore,
      randomBytes: draw,
    });
  }

  #createControllers(leadership: Leadership): ComposedService | null {
    const { controllers } = this.#deps;
    if (controllers === undefined) return null;
    return createClusterControllers(controllers, {
      ...this.#deps,
      store: leaderStore(this.#deps.store, leadership),
      leadership,
      watch: this.#watch,
      // An incomplete list would look like a loss of nodes.
      graphs: () => (this.#watch.pending().length > 0 ? null : this.#keeper.newest),
      bandwidthResource: this.#config.bandwidthResource,
      events: this.#recorder,
    });
  }

  #createWriters(leadership: Leadership): Service | null {
    const { annotations, clock, store } = this.#deps;
    if (annotations === undefined) return null;
    const replication = this.#replication;
    return createWriters(annotations, {
      ...this.#deps,
      store: replication === null ? store : ownerStore(store, replication.replicas),
      leaderStore: leaderStore(store, leadership),
      events: this.#recorder,
      ownership: ownershipOf(this.#replication, leadership),
      self: writerOf(replication === null ? null : this.#config.replicaNamespace, this.#deps),
      objects: annotatedObjectsOf(this.#watch),
      graphs: () => this.#keeper.newest,
      turn: turnsOf(clock),
    });
  }

  #podAddresses(): ProbeAddresses {
    const {
      probeUdpPort: udpPort,
      probeTcpPort: tcpPort,
      probeBandwidthPort,
      replicaNamespace,
    } = this.#config;
    const bandwidthPort = probeBandwidthPort === 0 ? null : probeBandwidthPort;
    const addresses = new PodProbeAddresses({ udpPort, tcpPort, bandwidthPort }, replicaNamespace);
    this.#watch.onPodChange((change) => addresses.take(change));
    return addresses;
  }

  #ready(): Readiness {
    const reasons = this.#watch.pending().map((kind) => `waiting for the list of ${kind} objects`);
    if (this.#keeper.newest === null) reasons.push("waiting for the first graph");
    reasons.push(...(this.#declarations?.pending() ?? []));
    reasons.push(...this.#intake.pending(), ...this.#probing.pending());
    return { ready: reasons.length === 0, reasons };
  }
}

import type { Batch, Bus, Subscription } from "@isochrone/bus";
import { otlpHttpIngest } from "@isochrone/bus/otlp-http";
import type { ClusterStore } from "@isochrone/kubernetes";
import {
  periodic,
  type Clock,
  type Logger,
  type Periodic,
  type Random,
  type Service,
} from "@isochrone/runtime";
import { listen, type HttpApp, type ListenAddress, type Readiness } from "@isochrone/runtime/http";
import { TOPICS } from "@isochrone/telemetry";
import type { Registry } from "prom-client";
import { HttpDecisions } from "./adapters/http-decisions.ts";
import { PodProbeAddresses } from "./adapters/pod-probe-addresses.ts";
import { StoreClusterWatch } from "./adapters/store-cluster-watch.ts";
import type { ClusterState } from "./domain/cluster-state.ts";
import { EventHistory } from "./domain/event-history.ts";
import { Ingest } from "./domain/ingest.ts";
import type { LinkKey } from "./domain/links.ts";
import { selectPeers, type PeerRule } from "./domain/probe-plan.ts";
import { Tables } from "./domain/tables.ts";
import { GraphKeeper } from "./graph-keeper.ts";
import { createGraphApi } from "./http/app.ts";
import { EventStream } from "./http/event-stream.ts";
import { createAggregatorMetrics, type AggregatorMetrics } from "./metrics.ts";
import type { PageAssets, ProbeAddresses } from "./ports.ts";
import { costMethodsOf, type AggregatorConfig } from "./settings.ts";

/** What an aggregator works with. */
export interface AggregatorDependencies {
  readonly bus: Bus;
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
  /** @default the probe pods' own addresses, from the store */
  readonly addresses?: ProbeAddresses;
  /** The web page; without it there is none. */
  readonly page?: PageAssets;
}

/** A running aggregator. */
export interface Aggregator extends Service {
  /** The server, for requests without a socket. Throws before `start`. */
  readonly app: HttpApp;
  /** Where it listens. Throws before `start`. */
  address(): ListenAddress;
}

/** Records of one batch are handled in one turn of the event loop: requests must get their turn too. */
const MAX_BATCH_RECORDS = 200;

/** How much larger than its compressed form a body may be. */
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
  readonly #ingest: Ingest;
  readonly #keeper: GraphKeeper;
  readonly #events: EventStream;
  readonly #metrics: AggregatorMetrics;
  readonly #builder: Periodic;
  readonly #peerRule: PeerRule;
  readonly #epoch: string;
  #wanted: { readonly cluster: ClusterState; readonly links: ReadonlySet<string> } | null = null;
  #app: HttpApp | null = null;
  #address: ListenAddress | null = null;
  #subscription: Subscription | null = null;

  constructor(config: AggregatorConfig, deps: AggregatorDependencies) {
    const { clock, random, logger, registry } = deps;
    this.#config = config;
    this.#deps = deps;
    this.#epoch = Math.floor(random.next() * 2 ** 48).toString(36) + Math.floor(clock.now()).toString(36);
    this.#watch = new StoreClusterWatch(deps);
    this.#tables = new Tables(shapeOf(config), config, costMethodsOf(config));
    this.#ingest = new Ingest(this.#tables, config, (source, reason, detail) =>
      logger.warnOnce(`refused:${source}:${reason}`, "telemetry refused", { source, reason, detail }),
    );
    const rule = { methods: costMethodsOf(config), quantile: config.costQuantile ?? "p50" } as const;
    this.#keeper = new GraphKeeper(this.#tables, rule, new EventHistory(this.#epoch, config.eventHistory));
    this.#peerRule = {
      fullMeshLimit: config.probeFullMeshLimit,
      peers: config.probePeers,
      maxZones: config.probeZonePeers,
    };
    this.#events = new EventStream({
      keeper: this.#keeper,
      clock,
      maxClients: config.maxEventClients,
      maxBufferedBytes: config.eventClientBufferBytes,
      onDropped: (reason) => this.#metrics.eventClientsDropped.inc({ reason }),
    });
    this.#metrics = createAggregatorMetrics(registry, {
      ingest: this.#ingest,
      tables: this.#tables,
      graphAgeMs: () => (this.#keeper.newest === null ? null : clock.now() - this.#keeper.newest.builtAtMs),
      eventClients: () => this.#events.clients,
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
    const { logger, registry, clock, page, bus } = this.#deps;
    const config = this.#config;
    const app = await createGraphApi({
      logger,
      registry,
      bodyLimitBytes: config.bodyLimitBytes,
      maxEventClients: config.maxEventClients,
      epoch: this.#epoch,
      keeper: this.#keeper,
      events: this.#events,
      plan: {
        addresses: this.#deps.addresses ?? this.#podAddresses(),
        rule: this.#peerRule,
        cluster: () => this.#watch.current(),
      },
      decisions: new HttpDecisions({
        baseUrl: config.decisionsUrl,
        timeoutMs: config.decisionsTimeoutMs,
        clock,
      }),
      page,
      ready: () => this.#ready(),
    });
    otlpHttpIngest(app, {
      publisher: bus,
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

  async start(): Promise<void> {
    const app = await this.#createServer();
    this.#app = app;
    await this.#watch.start();
    this.#subscription = await this.#deps.bus.subscribe({
      topics: Object.values(TOPICS),
      // Every replica merges everything: each is a group of its own, and begins where it begins.
      group: `aggregator-${this.#epoch}`,
      from: "earliest",
      maxBatchRecords: MAX_BATCH_RECORDS,
      onBatch: (batch) => this.#take(batch),
    });
    const { host, port } = this.#config;
    this.#address = await listen(app, { host, port, setting: "aggregator.port" });
    this.#builder.start();
    this.#deps.logger.info("graph API is listening", { url: this.#address.url });
  }

  async stop(): Promise<void> {
    await this.#builder.stop();
    this.#events.close();
    await this.#app?.close();
    await this.#subscription?.close();
    await this.#watch.stop();
  }

  async #take(batch: Batch): Promise<void> {
    const nowMs = this.#deps.clock.now();
    for (const record of batch.records) this.#ingest.take(record, nowMs);
    await batch.commit();
  }

  #build(): void {
    // Before the first lists are complete a graph would show a cluster that has lost most of its nodes.
    if (this.#watch.pending().length > 0) return;
    const { clock } = this.#deps;
    const beganMs = clock.monotonic();
    const cluster = this.#watch.current();
    const wanted = this.#wantedLinks(cluster);
    this.#keeper.build(cluster, clock.now(), (link) => wanted.has(pairKey(link)));
    this.#metrics.buildSeconds.observe((clock.monotonic() - beganMs) / 1000);
  }

  /** Links that the probe plan asks for: they stay listed when they fall silent. */
  #wantedLinks(cluster: ClusterState): ReadonlySet<string> {
    if (this.#wanted?.cluster !== cluster) {
      const names = new Set(cluster.nodes.map(({ name }) => name));
      const links = cluster.nodes.flatMap((node) =>
        // A node that isn't ready has no plan's peers, but its links are the ones that must be seen to be silent.
        selectPeers(
          node,
          cluster.nodes.map((other) => ({ ...other, ready: true })),
          this.#peerRule,
        ).map((peer) => pairKey({ source: node.name, target: peer.name })),
      );
      this.#wanted = { cluster, links: new Set(names.size > 1 ? links : []) };
    }
    return this.#wanted.links;
  }

  #podAddresses(): ProbeAddresses {
    const { probeUdpPort: udpPort, probeTcpPort: tcpPort } = this.#config;
    return new PodProbeAddresses(() => this.#watch.pods(), { udpPort, tcpPort });
  }

  #ready(): Readiness {
    const reasons = this.#watch.pending().map((kind) => `waiting for the list of ${kind} objects`);
    if (this.#keeper.newest === null) reasons.push("waiting for the first graph");
    return { ready: reasons.length === 0, reasons };
  }
}

function shapeOf({ windowMs, paneMs, fastPanes }: AggregatorConfig): Tables["shape"] {
  return { windowMs, paneMs, panes: windowMs / paneMs, fastPanes };
}

function pairKey({ source, target }: Pick<LinkKey, "source" | "target">): string {
  return `${source}\n${target}`;
}

import { BufferedPublisher, type Publisher } from "@isochrone/bus";
import { networkCards, SystemCallError } from "@isochrone/kernel-sockets";
import {
  composeServices,
  periodic,
  type Clock,
  type ComposedService,
  type Logger,
  type Part,
  type Random,
} from "@isochrone/runtime";
import { encodeMetrics, RESOURCE_ATTRIBUTES, TOPICS } from "@isochrone/telemetry";
import { type Outside } from "@isochrone/telemetry/outside";
import { readFile } from "node:fs/promises";
import type { Registry } from "prom-client";
import { bufferLimits } from "../domain/buffer-limits.ts";
import { batchesOf } from "../domain/records.ts";
import type { CollectorConfig } from "../settings.ts";
import { ConnectionRounds, type KernelFiles, type RoundResult } from "./connection-rounds.ts";
import { ConntrackSocket } from "./conntrack-socket.ts";
import { createConnectionMetrics, type ConnectionMetrics } from "./metrics.ts";
import { TRACKING_STATES, type TrackingState } from "./tracking-state.ts";

interface ConnectionCollectorDependencies {
  readonly bus: Publisher;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly outside?: Outside | null;
}

type ConnectionConfig = Pick<
  CollectorConfig,
  "node" | "intervalMs" | "bufferBytes" | "bufferMaxAgeMs" | "catchUpRecordsPerSecond"
>;

const CLOSE_DEADLINE_MS = 2_000;
/** Interval of reading end events: the kernel buffers some 20,000. */
const ENDS_MS = 100;
const FILES: KernelFiles = {
  interfaces: () => readFile("/proc/net/dev", "utf8"),
  cards: () => networkCards(),
  accounting: () => readFile("/proc/sys/net/netfilter/nf_conntrack_acct", "utf8").catch(() => null),
  events: () => readFile("/proc/sys/net/netfilter/nf_conntrack_events", "utf8").catch(() => null),
};

const REMEDIES: Readonly<Partial<Record<TrackingState, string>>> = {
  refused: "give the pod NET_ADMIN and the node's network; the kernel needs nf_conntrack_netlink",
  accounting_off: "set net.netfilter.nf_conntrack_acct=1 on the node",
  ends_unreported: "set net.netfilter.nf_conntrack_events=1 on the node",
  bypassed: "the CNI doesn't use the kernel's connection tracking: use one of its own sources of traffic",
  table_full: "raise net.netfilter.nf_conntrack_max on the node",
  overflowed: "connections end faster than they are read: lower collector.intervalMs, or give it more CPU",
};

/** Counts pods' traffic from connection tracking: a dump per interval, plus events of ended connections. */
export function createConnectionCollector(
  config: ConnectionConfig,
  dependencies: ConnectionCollectorDependencies,
): ComposedService {
  return composeServices(new ConnectionCollector(config, dependencies).parts);
}

class ConnectionCollector {
  readonly #config: ConnectionConfig;
  readonly #deps: ConnectionCollectorDependencies;
  readonly #metrics: ConnectionMetrics;
  readonly #publisher: BufferedPublisher;
  readonly #beat: ReturnType<typeof periodic>;
  readonly #endsBeat: ReturnType<typeof periodic>;
  #socket: ConntrackSocket | null = null;
  #rounds: ConnectionRounds | null = null;

  constructor(config: ConnectionConfig, deps: ConnectionCollectorDependencies) {
    const { clock, random, logger } = deps;
    this.#config = config;
    this.#deps = deps;
    this.#metrics = createConnectionMetrics(deps.registry);
    this.#publisher = new BufferedPublisher({
      publisher: deps.bus,
      source: `connections/${config.node}`,
      clock,
      random,
      ...bufferLimits(config),
      onDropped: (reason, count) => this.#metrics.dropped.inc({ reason }, count),
      onFailure: (error) => logger.warnOnce("publish", "the bus takes nothing, trying again", { error }),
    });
    const onError = (error: unknown): void => this.#failed(error);
    this.#beat = periodic({
      clock,
      intervalMs: config.intervalMs,
      immediate: true,
      run: () => this.#round(),
      onError,
    });
    this.#endsBeat = periodic({ clock, intervalMs: ENDS_MS, run: () => this.#takeEnds(), onError });
  }

  get parts(): readonly Part[] {
    return [
      { name: "socket", service: { stop: () => this.#close() } },
      { name: "publisher", service: { stop: () => this.#publisher.close(CLOSE_DEADLINE_MS) } },
      { name: "ends", service: this.#endsBeat },
      { name: "rounds", service: this.#beat },
    ];
  }

  async #takeEnds(): Promise<void> {
    this.#rounds?.takeEnds();
  }

  async #round(): Promise<void> {
    const rounds = await this.#opened();
    const { clock } = this.#deps;
    const result = await rounds.round(clock.now(), clock.monotonic());
    this.#show(result);
    if (result.metrics.length === 0) return;
    const { node } = this.#config;
    const resource = {
      [RESOURCE_ATTRIBUTES.serviceName]: "isochrone-connections",
      [RESOURCE_ATTRIBUTES.serviceInstanceId]: node,
      [RESOURCE_ATTRIBUTES.node]: node,
    };
    for (const batch of batchesOf(resource, result.metrics))
      this.#publisher.offer(TOPICS.traffic, node, encodeMetrics(batch));
  }

  async #opened(): Promise<ConnectionRounds> {
    if (this.#rounds !== null) return this.#rounds;
    this.#socket = await ConntrackSocket.open();
    this.#rounds = new ConnectionRounds(this.#socket, FILES, this.#deps.outside);
    return this.#rounds;
  }

  #show(result: RoundResult): void {
    const metrics = this.#metrics;
    this.#showState(result.state);
    metrics.tracked.set({ counted: "yes" }, result.tracked - result.uncounted);
    metrics.tracked.set({ counted: "no" }, result.uncounted);
    metrics.bytes.inc(result.bytes);
    metrics.leftOutBytes.inc(result.leftOutBytes);
    metrics.lostEnds.inc(result.lostEnds);
    metrics.overflows.inc(result.overflows);
    metrics.duplicates.inc(result.duplicates);
    const { dropped, evicted, insertsFailed } = result.drops;
    metrics.tableDrops.inc({ reason: "dropped" }, dropped);
    metrics.tableDrops.inc({ reason: "evicted" }, evicted);
    metrics.tableDrops.inc({ reason: "insert_failed" }, insertsFailed);
  }

  #showState(state: TrackingState, error?: unknown): void {
    for (const known of TRACKING_STATES) this.#metrics.state.set({ state: known }, known === state ? 1 : 0);
    const remedy = REMEDIES[state];
    if (remedy !== undefined)
      this.#deps.logger.warnOnce(`connections ${state}`, "connections are not counted whole", {
        state,
        remedy,
        error,
      });
  }

  #failed(error: unknown): void {
    if (!(error instanceof SystemCallError))
      this.#deps.logger.error("round of connections failed", { error });
    this.#close();
    this.#showState("refused", error);
  }

  #close(): void {
    this.#socket?.close();
    this.#socket = null;
    this.#rounds = null;
  }
}

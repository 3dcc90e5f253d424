// Round trips from the dispatcher's node, from the graph API.
import { periodic, type Clock, type Logger, type Periodic, type Service } from "@isochrone/runtime";
import { ClusterGraph, type ClusterGraphSnapshot } from "@isochrone/topology";
import type { RoundTrips } from "./ports/ports.ts";

export interface GraphReader {
  /** Newest cluster graph; the same object if unchanged. */
  cluster(signal: AbortSignal): Promise<ClusterGraphSnapshot>;
}

interface GraphRoundTripsOptions {
  readonly graphs: GraphReader;
  readonly node: string | null;
  readonly refreshMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** After this time without confirmation, the graph is ignored and endpoints count as equally near. */
const STALE_MS = 120_000;

export class GraphRoundTrips implements RoundTrips, Service {
  readonly #options: GraphRoundTripsOptions;
  readonly #polling: Periodic;
  #version = 0;
  #snapshot: ClusterGraphSnapshot | null = null;
  #graph: ClusterGraph | null = null;
  #from: Float64Array | null = null;
  #ownZone: string | null = null;
  #confirmedAtMs: number | null = null;

  constructor(options: GraphRoundTripsOptions) {
    this.#options = options;
    const { clock, logger, refreshMs } = options;
    this.#polling = periodic({
      clock,
      intervalMs: refreshMs,
      immediate: true,
      run: (signal) => this.refresh(signal),
      onError: (error) => {
        this.#dropStale();
        logger.warnOnce("graph", "the cluster graph can't be read, endpoints may be equally near", { error });
      },
    });
  }

  start(): Promise<void> {
    this.#polling.start();
    return Promise.resolve();
  }

  stop(): Promise<void> {
    return this.#polling.stop();
  }

  get version(): number {
    return this.#version;
  }

  get ownZone(): string | null {
    return this.#ownZone;
  }

  get ageSeconds(): number | null {
    return this.#confirmedAtMs === null
      ? null
      : (this.#options.clock.monotonic() - this.#confirmedAtMs) / 1000;
  }

  toNode(name: string): number {
    const id = this.#graph?.idOf(name) ?? -1;
    return id < 0 ? Number.NaN : (this.#from?.[id] ?? Number.NaN);
  }

  /** Rejects with the reader's errors; the previous graph stays until stale. */
  async refresh(signal: AbortSignal): Promise<void> {
    const { graphs, node, clock } = this.#options;
    const snapshot = await graphs.cluster(signal);
    this.#confirmedAtMs = clock.monotonic();
    if (snapshot === this.#snapshot) return;
    this.#snapshot = snapshot;
    const graph = new ClusterGraph(snapshot);
    const own = node === null ? -1 : graph.idOf(node);
    this.#graph = graph;
    this.#from = own < 0 ? null : graph.costsFrom(own);
    this.#ownZone = graph.nodes[own]?.zone ?? null;
    this.#version++;
  }

  #dropStale(): void {
    if (this.#confirmedAtMs === null || (this.ageSeconds ?? 0) * 1000 < STALE_MS) return;
    this.#snapshot = this.#graph = this.#from = this.#confirmedAtMs = null;
    this.#version++;
  }
}

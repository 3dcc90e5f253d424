// Round trips from the dispatcher's node, by the cluster graph of the graph API.
import { periodic, type Clock, type Logger, type Periodic, type Service } from "@isochrone/runtime";
import { ClusterGraph, type ClusterGraphSnapshot } from "@isochrone/topology";
import type { RoundTrips } from "./ports/ports.ts";

/** Where graphs come from. */
export interface GraphReader {
  /** The newest cluster graph: the very object of the time before where nothing has changed. */
  cluster(signal: AbortSignal): Promise<ClusterGraphSnapshot>;
}

interface GraphRoundTripsOptions {
  readonly graphs: GraphReader;
  /** Null: nobody said; then nothing is known. */
  readonly node: string | null;
  readonly refreshMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A graph that wasn't confirmed for so long says nothing of now: endpoints are equally near again. */
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

  /** Seconds since the graph was last confirmed; null: there is none. */
  get ageSeconds(): number | null {
    return this.#confirmedAtMs === null
      ? null
      : (this.#options.clock.monotonic() - this.#confirmedAtMs) / 1000;
  }

  toNode(name: string): number {
    const id = this.#graph?.idOf(name) ?? -1;
    return id < 0 ? Number.NaN : (this.#from?.[id] ?? Number.NaN);
  }

  /** Throws what reading throws; what was read before stays until it is stale. */
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

// Caches the newest graphs, so that kube-scheduler's requests never wait. Polls the graph API for a new
// version (cheap if there is none), then reads all changed workflows at once.
import { periodic } from "@isochrone/runtime";
import type { Clock, Logger } from "@isochrone/runtime";
import { ClusterGraph, TopologyError, WorkflowGraph } from "@isochrone/topology";
import type { ClusterGraphSnapshot, Dropped, DroppedKind } from "@isochrone/topology";
import type { GraphClient } from "@isochrone/topology/client";
import { listedPrices, type PriceTable } from "@isochrone/prices";
import { entriesOf } from "@isochrone/primitives";
import { seenGraph } from "../domain/graph-age.ts";
import type { GraphSource } from "../ports/ports.ts";

interface GraphApiSourceOptions {
  readonly client: GraphClient;
  readonly refreshMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when a refresh failed; `reason` is from a fixed list. */
  readonly onFailure: (reason: string) => void;
  /** Also read the price table. @default false */
  readonly withPrices?: boolean;
  readonly onDropped?: (kind: DroppedKind, count: number) => void;
}

/** Bound on followed workflows. Pods of further ones are placed without a workflow graph. */
const MAX_WORKFLOWS = 5_000;

export class GraphApiSource implements GraphSource {
  readonly #options: GraphApiSourceOptions;
  readonly #polling: ReturnType<typeof periodic>;
  #snapshot: ClusterGraphSnapshot | null = null;
  #cluster: ClusterGraph | null = null;
  #workflows: ReadonlyMap<string, WorkflowGraph> = new Map();
  /** Version to request changes since; null requests everything. */
  #since: string | null = null;
  #workflowsWith: ClusterGraphSnapshot | null = null;
  #prices: PriceTable | null = null;
  #ready = false;
  #failing = false;

  constructor(options: GraphApiSourceOptions) {
    this.#options = options;
    this.#polling = periodic({
      clock: options.clock,
      intervalMs: options.refreshMs,
      immediate: true,
      run: (signal) => this.refresh(signal),
      onError: (error) => this.#failed(error),
    });
  }

  /** Doesn't wait for the first graphs: the extender must start without the graph API. */
  start(): Promise<void> {
    this.#polling.start();
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    await this.#polling.stop();
  }

  cluster(): ClusterGraph | null {
    return this.#cluster;
  }

  clusterSnapshot(): ClusterGraphSnapshot | null {
    return this.#snapshot;
  }

  workflow(namespace: string, name: string): WorkflowGraph | null {
    return this.#workflows.get(keyOf(namespace, name)) ?? null;
  }

  workflows(): Iterable<WorkflowGraph> {
    return this.#workflows.values();
  }

  prices(): PriceTable | null {
    return this.#prices;
  }

  ready(): boolean {
    return this.#ready;
  }

  async refresh(signal?: AbortSignal): Promise<void> {
    const cluster = await this.#options.client.cluster(signal);
    if (cluster.value !== this.#snapshot) {
      this.#noteDropped(cluster.dropped);
      const graph = new ClusterGraph(cluster.value);
      // Compute summaries now, before a request needs them.
      graph.prepare();
      this.#seen(graph, graph);
      this.#snapshot = cluster.value;
      this.#cluster = graph;
      if (this.#options.withPrices === true) await this.#readPrices(signal);
    }
    if (this.#workflowsWith !== cluster.value) {
      await this.#readWorkflows(signal);
      this.#workflowsWith = cluster.value;
    }
    this.#ready = true;
    if (this.#failing) this.#options.logger.info("graph API is back");
    this.#failing = false;
  }

  #seen(graph: { readonly observedAt: string }, { maxAgeSeconds }: ClusterGraph): void {
    const { client, clock } = this.#options;
    seenGraph(graph, {
      nowMs: clock.now(),
      serverMs: client.serverMs,
      maxAgeMs: maxAgeSeconds * 1_000,
      monotonic: () => clock.monotonic(),
    });
  }

  /** Errors are swallowed: without prices latency alone decides. */
  async #readPrices(signal: AbortSignal | undefined): Promise<void> {
    const { client, logger, onFailure } = this.#options;
    try {
      const { value, changed } = await client.prices(signal);
      if (changed || this.#prices === null) this.#prices = listedPrices(value);
    } catch (error) {
      onFailure(error instanceof TopologyError ? error.code : "other");
      logger.warnOnce("prices", "the price table can't be read", { error });
    }
  }

  /** All or nothing: after a failure the same changes are requested again. */
  async #readWorkflows(signal: AbortSignal | undefined): Promise<void> {
    const { client, logger } = this.#options;
    const changes = await client.workflowChanges(this.#since, signal);
    const { id, version, observedAt, workflows, graphs } = changes;
    this.#noteDropped(changes.dropped);
    if (workflows.length > MAX_WORKFLOWS) {
      logger.warnOnce("workflows", "too many workflows, the rest is not followed", {
        workflows: workflows.length,
        limit: MAX_WORKFLOWS,
      });
    }
    const changed = new Map(graphs.map((graph) => [keyOf(graph.namespace, graph.name), graph]));
    const next = new Map<string, WorkflowGraph>();
    let isWhole = true;
    for (const { namespace, name } of workflows.slice(0, MAX_WORKFLOWS)) {
      const key = keyOf(namespace, name);
      const graph = changed.get(key);
      const before = this.#workflows.get(key);
      if (graph !== undefined) next.set(key, new WorkflowGraph(graph));
      // An unchanged graph counts as observed now.
      else if (before !== undefined) next.set(key, before.seenAgain(version, observedAt));
      else isWhole = false;
    }
    for (const graph of next.values()) if (this.#cluster !== null) this.#seen(graph, this.#cluster);
    this.#workflows = next;
    // A workflow may disappear and return while pages are read.
    this.#since = isWhole ? id : null;
  }

  #noteDropped({ counts, first }: Dropped): void {
    if (first === null) return;
    for (const [kind, count] of entriesOf(counts)) this.#options.onDropped?.(kind, count);
    this.#options.logger.warnOnce("dropped", "parts of the graphs break their rules and are left out", {
      ...counts,
      first,
    });
  }

  #failed(error: unknown): void {
    const reason = error instanceof TopologyError ? error.code : "other";
    this.#options.onFailure(reason);
    if (!this.#failing)
      this.#options.logger.warn("graph API can't be read, the last graphs stay in use until they are stale", {
        error,
      });
    this.#failing = true;
  }
}

function keyOf(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

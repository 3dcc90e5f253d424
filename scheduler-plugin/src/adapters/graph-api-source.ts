// Keeps the newest graphs at hand by polling the graph API. A request of kube-scheduler never waits for it.
import { periodic } from "@isochrone/runtime";
import type { Clock, Logger } from "@isochrone/runtime";
import { ClusterGraph, TopologyError, WorkflowGraph } from "@isochrone/topology";
import type { ClusterGraphSnapshot } from "@isochrone/topology";
import type { GraphClient } from "@isochrone/topology/client";
import type { GraphSource } from "../ports.ts";

export interface GraphApiSourceOptions {
  readonly client: GraphClient;
  readonly refreshMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** A refresh failed; `reason` is one of a few words. */
  readonly onFailure: (reason: string) => void;
}

/** Workflows read at once; the graph API shares its machine with the ingest of telemetry. */
const CONCURRENT_READS = 4;
/** More than this are not followed: their pods are placed without a workflow graph. */
const MAX_WORKFLOWS = 5_000;

export class GraphApiSource implements GraphSource {
  readonly #options: GraphApiSourceOptions;
  readonly #polling: ReturnType<typeof periodic>;
  #snapshot: ClusterGraphSnapshot | null = null;
  #cluster: ClusterGraph | null = null;
  #workflows: ReadonlyMap<string, WorkflowGraph> = new Map();
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

  /** Doesn't wait for the first graphs: a graph API that is away must not keep the extender from starting. */
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

  workflow(namespace: string, name: string): WorkflowGraph | null {
    return this.#workflows.get(keyOf(namespace, name)) ?? null;
  }

  ready(): boolean {
    return this.#ready;
  }

  /** Reads what has changed. Throws what the client throws; graphs read before stay. */
  async refresh(signal?: AbortSignal): Promise<void> {
    const cluster = await this.#options.client.cluster(signal);
    if (cluster.value !== this.#snapshot) {
      const graph = new ClusterGraph(cluster.value);
      // Summaries are made here, before somebody waits for them.
      graph.prepare();
      this.#snapshot = cluster.value;
      this.#cluster = graph;
    }
    this.#workflows = await this.#readWorkflows(signal);
    this.#ready = true;
    if (this.#failing) this.#options.logger.info("graph API is back");
    this.#failing = false;
  }

  async #readWorkflows(signal: AbortSignal | undefined): Promise<Map<string, WorkflowGraph>> {
    const { client, logger } = this.#options;
    const list = (await client.workflows(signal)).value.workflows;
    if (list.length > MAX_WORKFLOWS) {
      logger.warnOnce("workflows", "too many workflows, the rest is not followed", {
        workflows: list.length,
        limit: MAX_WORKFLOWS,
      });
    }
    const queue = list.slice(0, MAX_WORKFLOWS);
    const graphs = new Map<string, WorkflowGraph>();
    const reader = async (): Promise<void> => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const { namespace, name } = next;
        const graph = await this.#readWorkflow(namespace, name, signal);
        if (graph !== null) graphs.set(keyOf(namespace, name), graph);
      }
    };
    await Promise.all(Array.from({ length: CONCURRENT_READS }, reader));
    return graphs;
  }

  /** null for a workflow that has gone since the list was made. */
  async #readWorkflow(
    namespace: string,
    name: string,
    signal: AbortSignal | undefined,
  ): Promise<WorkflowGraph | null> {
    try {
      const { value, changed } = await this.#options.client.workflow(namespace, name, signal);
      const before = this.workflow(namespace, name);
      return changed || before === null ? new WorkflowGraph(value) : before;
    } catch (error) {
      if (error instanceof TopologyError && "status" in error && error.status === 404) return null;
      throw error;
    }
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

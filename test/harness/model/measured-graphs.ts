// Builds graphs with a real aggregator from measurements of the model's probes and proxies.
import { createAggregator } from "@isochrone/aggregator";
import { counter, istio, probeMetrics, recordOf, type Aggregator } from "@isochrone/aggregator/testing";
import { createMemoryBus } from "@isochrone/bus/memory";
import type { MemoryBus } from "@isochrone/bus/testing";
import { aggregatorConfig } from "@isochrone/cli/testing";
import type { ClusterStore } from "@isochrone/kubernetes";
import { createRegistry, type Random } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import type { GraphSource } from "@isochrone/scheduler-plugin/testing";
import { TOPICS, type Metric } from "@isochrone/telemetry";
import { ClusterGraph, WorkflowGraph, type ClusterGraphSnapshot } from "@isochrone/topology";
import type { WorkflowGraphSnapshot } from "@isochrone/topology";
import type { ModelClock } from "./model-clock.ts";
import type { TrueLink, Waiting } from "./noise.ts";

const METHODS = ["udp_rr", "tcp_rr"] as const;
/** Probes per second of each probe, which publishes once a second, like the demo with a window of 30 s. */
const PROBES_PER_SECOND = 2;

export interface CountedChannel {
  readonly source: string;
  readonly target: string;
  readonly requestBytes: number;
  readonly responseBytes: number;
}

interface MeasuredGraphsOptions {
  readonly clock: ModelClock;
  readonly random: Random;
  readonly store: ClusterStore;
  readonly windowMs: number;
  readonly nodes: readonly string[];
  readonly link: (source: string, target: string) => TrueLink;
  readonly isDead: (node: string) => boolean;
  readonly waiting: Waiting;
  readonly namespace: string;
  readonly workflow: string;
}

export class MeasuredGraphs implements GraphSource {
  readonly logger = new MemoryLogger();
  readonly #options: MeasuredGraphsOptions;
  readonly #bus: MemoryBus;
  readonly #aggregator: Aggregator;
  readonly #counts = new Map<CountedChannel, { requests: number; bytes: number; answered: number }>();
  /** Sequence numbers by stream. */
  readonly #sequences = new Map<string, number>();
  #cluster: ClusterGraph | null = null;
  #workflow: WorkflowGraph | null = null;

  constructor(options: MeasuredGraphsOptions) {
    this.#options = options;
    const { clock, random, store, windowMs } = options;
    this.#bus = createMemoryBus({ clock, partitions: 1, retentionRecords: 64, retentionBytes: 512 * 1024 });
    const config = aggregatorConfig({ allowedHosts: [], env: {}, windowMs }, 0, "http://127.0.0.1:1");
    this.#aggregator = createAggregator(config, {
      bus: this.#bus,
      store,
      clock,
      random,
      logger: this.logger,
      registry: createRegistry(),
      // All pairs are measured, so nothing is estimated.
      coordinates: { fit: () => Promise.reject(new Error("not asked")), close: async () => undefined },
    });
  }

  async start(): Promise<void> {
    await this.#aggregator.start();
  }

  async stop(): Promise<void> {
    await this.#aggregator.stop();
    await this.#bus.close();
  }

  ready(): boolean {
    return this.#cluster !== null && this.#workflow !== null;
  }

  cluster(): ClusterGraph | null {
    return this.#cluster;
  }

  workflow(namespace: string, name: string): WorkflowGraph | null {
    const { namespace: ours, workflow } = this.#options;
    return namespace === ours && name === workflow ? this.#workflow : null;
  }

  workflows(): Iterable<WorkflowGraph> {
    return this.#workflow === null ? [] : [this.#workflow];
  }

  clusterSnapshot(): ClusterGraphSnapshot | null {
    return null;
  }

  async measure(
    requests: ReadonlyMap<CountedChannel, number>,
    nodeOf: (workload: string) => string | null,
  ): Promise<void> {
    for (const source of this.#options.nodes) if (!this.#options.isDead(source)) await this.#probe(source);
    await this.#countTraffic(requests, nodeOf);
  }

  async read(): Promise<void> {
    const { app } = this.#aggregator;
    const { namespace, workflow } = this.#options;
    const graph = await app.inject("/api/v1/graph/cluster");
    if (graph.statusCode !== 200) return;
    this.#cluster = new ClusterGraph(graph.json<ClusterGraphSnapshot>());
    const flow = await app.inject(`/api/v1/graph/workflows/${namespace}/${workflow}`);
    if (flow.statusCode === 200) this.#workflow = new WorkflowGraph(flow.json<WorkflowGraphSnapshot>());
  }

  async #probe(source: string): Promise<void> {
    const { clock, nodes, link, waiting, isDead } = this.#options;
    const timeMs = Math.floor(clock.now());
    const samples = METHODS.flatMap((method) =>
      nodes
        .filter((target) => target !== source)
        .flatMap((target) => {
          const truth = isDead(target) ? { ...link(source, target), cut: true } : link(source, target);
          const rtts: (number | null)[] = [];
          for (let probe = 0; probe < PROBES_PER_SECOND; probe++)
            if (waiting.isSent(clock.monotonic())) rtts.push(waiting.rttMs(truth, clock.monotonic()));
          const rttsMs = rtts.filter((ms) => ms !== null);
          const outcomes = { sent: rtts.length, received: rttsMs.length, lost: rtts.length - rttsMs.length };
          return rtts.length === 0 ? [] : [{ target, method, timeMs, rttsMs, outcomes }];
        }),
    );
    if (samples.length > 0) await this.#publish(TOPICS.probe, source, probeMetrics(samples));
  }

  async #countTraffic(
    requests: ReadonlyMap<CountedChannel, number>,
    nodeOf: (workload: string) => string | null,
  ): Promise<void> {
    const timeMs = Math.floor(this.#options.clock.now());
    const byNode = new Map<string, Metric[]>();
    for (const [channel, count] of requests) {
      const node = nodeOf(channel.source);
      const total = this.#counts.get(channel) ?? { requests: 0, bytes: 0, answered: 0 };
      total.requests += count;
      total.bytes += count * channel.requestBytes;
      total.answered += count * channel.responseBytes;
      this.#counts.set(channel, total);
      if (node === null) continue;
      const { namespace } = this.#options;
      const labels = {
        ...istio("source", channel.source, channel.target),
        source_workload_namespace: namespace,
        destination_workload_namespace: namespace,
      };
      const metrics = [
        counter("istio_requests_total", { ...labels, response_code: "200" }, timeMs, total.requests),
        counter("istio_request_bytes_sum", labels, timeMs, total.bytes),
        counter("istio_response_bytes_sum", labels, timeMs, total.answered),
      ];
      byNode.set(node, [...(byNode.get(node) ?? []), ...metrics]);
    }
    for (const [node, metrics] of byNode) await this.#publish(TOPICS.traffic, node, metrics);
  }

  async #publish(topic: string, node: string, metrics: readonly Metric[]): Promise<void> {
    const arrivedAtMs = Math.floor(this.#options.clock.now());
    const source = `${topic}/${node}`;
    const sequence = (this.#sequences.get(source) ?? 0) + 1;
    this.#sequences.set(source, sequence);
    const { key, value, headers } = recordOf(node, metrics, { source, arrivedAtMs, sequence });
    await this.#bus.publish(topic, [{ key, value, headers }]);
  }
}

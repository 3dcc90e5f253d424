import { aggregatorSettings, clusterControllerSections, createAggregator } from "@isochrone/aggregator";
import type { Aggregator } from "@isochrone/aggregator/testing";
import { BufferedPublisher } from "@isochrone/bus";
import { createMemoryBus } from "@isochrone/bus/memory";
import type { MemoryBus } from "@isochrone/bus/testing";
import { createApiServerStore } from "@isochrone/kubernetes/api-server";
import type { ApiServerClusterStore } from "@isochrone/kubernetes/testing";
import { createRegistry, loadSettings, pause, systemClock, systemRandom } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import {
  Distribution,
  encodeMetrics,
  FLOW_METRICS,
  PROBE_METRICS,
  RESOURCE_ATTRIBUTES,
  TOPICS,
  type Metric,
} from "@isochrone/telemetry";

/** Cluster-wide RBAC rules of the controllers. */
export const CONTROLLER_RULES = [
  { apiGroups: [""], resources: ["pods", "services", "namespaces"], verbs: ["list", "watch"] },
  // After a rejected patch, the controller checks whether the node changed or the patch is invalid.
  { apiGroups: [""], resources: ["nodes"], verbs: ["get", "list", "watch"] },
  {
    apiGroups: ["apps"],
    resources: ["deployments", "statefulsets", "daemonsets", "replicasets"],
    verbs: ["list", "watch"],
  },
  {
    apiGroups: ["appgroup.diktyo.x-k8s.io"],
    resources: ["appgroups"],
    verbs: ["list", "watch", "create", "patch", "delete"],
  },
  {
    apiGroups: ["networktopology.diktyo.x-k8s.io"],
    resources: ["networktopologies"],
    verbs: ["get", "create", "patch"],
  },
  { apiGroups: [""], resources: ["nodes/status"], verbs: ["patch"] },
  { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create", "patch"] },
];

/** Measured values. Keys of pairs are "source target". */
export interface Measurements {
  /** Round-trip times, ms. */
  rttMs: Record<string, number>;
  /** Bursts, bits per second. */
  bursts: Record<string, number>;
  /** TCP bytes per second between workloads of namespace `shop`. */
  bytesPerSecond: Record<string, number>;
  /** Rates allowed by network managers, bits per second. Keys are "node flow". */
  flows: Record<string, { readonly allowed: number; readonly achieved: number }>;
}

type SettingsBySection = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

const PUBLISH_INTERVAL_MS = 1000;
/** Enough for a p90 after one record. */
const SAMPLES_PER_RECORD = 30;

export class MeasuredAggregator {
  readonly logger = new MemoryLogger();
  readonly measured: Measurements = { rttMs: {}, bursts: {}, bytesPerSecond: {}, flows: {} };
  readonly #bus: MemoryBus = createMemoryBus({ clock: systemClock });
  readonly #store: ApiServerClusterStore;
  readonly #publisher: BufferedPublisher;
  readonly #aggregator: Aggregator;
  readonly #registry = createRegistry();
  readonly #stopping = new AbortController();
  readonly #beganMs = Date.now();
  #publishing: Promise<void> = Promise.resolve();

  static async start(
    kubeconfig: string,
    settings: SettingsBySection,
    measured: Partial<Measurements> = {},
  ): Promise<MeasuredAggregator> {
    const one = new MeasuredAggregator(kubeconfig, settings);
    Object.assign(one.measured, measured);
    await one.#aggregator.start();
    one.#publishing = one.#publish();
    return one;
  }

  private constructor(kubeconfig: string, settings: SettingsBySection) {
    const clock = systemClock;
    const random = systemRandom;
    const { logger } = this;
    this.#store = createApiServerStore({ credentials: { kubeconfig }, clock, random, logger });
    this.#publisher = new BufferedPublisher({ publisher: this.#bus, source: "test", clock, random });
    const { aggregator, ...controllers } = load(settings);
    this.#aggregator = createAggregator(aggregator, {
      bus: this.#bus,
      store: this.#store,
      clock,
      random,
      logger,
      registry: this.#registry,
      controllers,
    });
  }

  get url(): string {
    return this.#aggregator.address().url;
  }

  async graph(path: string): Promise<unknown> {
    const response = await fetch(`${this.#aggregator.address().url}${path}`);
    return response.json();
  }

  metrics(): Promise<string> {
    return this.#registry.metrics();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#publishing;
    await this.#publisher.close(1000);
    await this.#aggregator.stop();
    await this.#bus.close();
    this.#store.close();
  }

  async #publish(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      for (const [pair, rttMs] of Object.entries(this.measured.rttMs)) this.#offer(pair, rttOf(rttMs));
      for (const [pair, bits] of Object.entries(this.measured.bursts)) this.#offer(pair, burstOf(bits));
      for (const [pair, rate] of Object.entries(this.measured.bytesPerSecond)) this.#offerTraffic(pair, rate);
      for (const [flow, rates] of Object.entries(this.measured.flows)) this.#offerFlow(flow, rates);
      await pause(systemClock, PUBLISH_INTERVAL_MS, this.#stopping.signal);
    }
  }

  #offer(pair: string, metricTo: (target: string, timeMs: number) => Metric): void {
    const [source = "", target = ""] = pair.split(" ");
    this.#publisher.offer(TOPICS.probe, source, encode(source, metricTo(target, Date.now())));
  }

  #offerFlow(at: string, { allowed, achieved }: Measurements["flows"][string]): void {
    const [node = "", flow = ""] = at.split(" ");
    const timeMs = Date.now();
    const startMs = timeMs - PUBLISH_INTERVAL_MS;
    const point = (value: number) => ({ attributes: { flow }, startMs, timeMs, value });
    const bytes = (achieved / 8) * (PUBLISH_INTERVAL_MS / 1000);
    const sum = { kind: "sum", temporality: "delta", monotonic: true } as const;
    for (const metric of [
      { name: FLOW_METRICS.allowed, kind: "gauge", points: [point(allowed)] },
      { ...sum, name: FLOW_METRICS.sent, points: [point(bytes)] },
      { ...sum, name: FLOW_METRICS.dropped, points: [point(0)] },
    ] satisfies Metric[])
      this.#publisher.offer(TOPICS.traffic, node, encode(node, metric));
  }

  #offerTraffic(pair: string, bytesPerSecond: number): void {
    const [source = "", target = ""] = pair.split(" ");
    const timeMs = Date.now();
    const attributes = {
      reporter: "source",
      source_workload: source,
      source_workload_namespace: "shop",
      destination_workload: target,
      destination_workload_namespace: "shop",
    };
    const value = Math.round(((timeMs - this.#beganMs) / 1000) * bytesPerSecond);
    const metric: Metric = {
      kind: "sum",
      name: "istio_tcp_sent_bytes_total",
      temporality: "cumulative",
      monotonic: true,
      points: [{ attributes, startMs: this.#beganMs, timeMs, value }],
    };
    this.#publisher.offer(TOPICS.traffic, source, encode(source, metric));
  }
}

function load(settings: SettingsBySection) {
  const { networkTopology, appGroups, bandwidthResource, gates } = clusterControllerSections;
  const usual = { host: "127.0.0.1", port: 0, windowMs: 30_000, paneMs: 2000, buildIntervalMs: 500 };
  const file = { ...settings, aggregator: { ...usual, ...settings["aggregator"] } };
  return loadSettings([aggregatorSettings, networkTopology, appGroups, bandwidthResource, gates], {
    env: {},
    file,
  });
}

function encode(node: string, metric: Metric): Uint8Array {
  const resource = { [RESOURCE_ATTRIBUTES.node]: node };
  return encodeMetrics({ resource, scope: { name: "test" }, metrics: [metric] });
}

function rttOf(rttMs: number): (target: string, timeMs: number) => Metric {
  const distribution = new Distribution();
  for (let sample = 0; sample < SAMPLES_PER_RECORD; sample++) distribution.record(rttMs / 1000);
  return (target, timeMs) => ({
    kind: "exponentialHistogram",
    name: PROBE_METRICS.rtt,
    unit: "s",
    temporality: "delta",
    points: [
      {
        attributes: { destination_node: target, method: "udp_rr", ip_family: "4" },
        startMs: timeMs - PUBLISH_INTERVAL_MS,
        timeMs,
        data: distribution.toData(),
      },
    ],
  });
}

function burstOf(bitsPerSecond: number): (target: string, timeMs: number) => Metric {
  return (target, timeMs) => ({
    kind: "gauge",
    name: PROBE_METRICS.bandwidth,
    points: [{ attributes: { destination_node: target, transport: "tcp" }, timeMs, value: bitsPerSecond }],
  });
}

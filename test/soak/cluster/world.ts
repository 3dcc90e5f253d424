// Everything is a pure function of time, so that all processes share the same truth. Rates drift slowly.
import {
  Distribution,
  encodeMetrics,
  PROBE_ATTRIBUTES,
  PROBE_METRICS,
  RESOURCE_ATTRIBUTES,
  TOPICS,
  type Attributes,
  type Metric,
} from "@isochrone/telemetry";

export interface WorldShape {
  readonly nodes: number;
  readonly podsPerNode: number;
  readonly peersPerNode: number;
  /** Replicas of a workload; nodes x podsPerNode must be a multiple of it. */
  readonly replicas: number;
  /** Share of all pods replaced per minute. */
  readonly churnPerMinute: number;
  readonly scrapePeriodMs: number;
  /** Time 0 of the world, Unix ms. */
  readonly beginMs: number;
}

export const PROBE_PERIOD_MS = 10_000;
const NAMESPACES = 50;
const MEAN_REQUESTS_PER_SECOND = 40;
const BYTES_PER_REQUEST = 1500;
const CORES_PER_POD = 0.2;
const POD_MEMORY_BYTES = 2e8;
/** Rates drift by up to 10 %. */
const DRIFT = 0.1;
const DRIFT_PERIOD_MS = 1_800_000;
const SCOPE = { name: "isochrone.soak" } as const;
const ZONES = 12;
const REGIONS = 4;

export interface PodIdentity {
  readonly slot: number;
  readonly name: string;
  readonly startMs: number;
}

export interface WorldRecord {
  readonly topic: string;
  readonly key: string;
  readonly value: Uint8Array;
  readonly points: number;
}

export class World {
  readonly shape: WorldShape;
  readonly #slots: number;
  readonly #lifeMs: number;

  constructor(shape: WorldShape) {
    this.shape = shape;
    this.#slots = shape.nodes * shape.podsPerNode;
    this.#lifeMs = 60_000 / shape.churnPerMinute;
    if (this.#slots % shape.replicas !== 0)
      throw new Error(`replicas must divide ${this.#slots} pods, got ${shape.replicas}`);
  }

  get workloads(): number {
    return this.#slots / this.shape.replicas;
  }

  nodeName(node: number): string {
    return `ip-10-${node >> 8}-${node & 255}-17.${this.region(node)}.compute.internal`;
  }

  zone(node: number): string {
    return `${this.region(node)}${"abc"[Math.floor((node % ZONES) / REGIONS)]}`;
  }

  region(node: number): string {
    return ["eu-central-1", "eu-west-1", "us-east-1", "ap-south-1"][node % REGIONS]!;
  }

  workloadName(workload: number): string {
    return `workload-${workload}`;
  }

  namespaceOf(workload: number): string {
    return `team-${workload % NAMESPACES}`;
  }

  workloadOfSlot(slot: number): number {
    return slot % this.workloads;
  }

  /** In the same namespace. */
  targetOf(workload: number): number {
    return (workload + 7 * NAMESPACES) % this.workloads;
  }

  /** Pods of a slot follow each other, and replacements are spread evenly over slots. */
  pod(slot: number, timeMs: number): PodIdentity {
    const { life, offsetMs } = this.#lifeOf(slot, timeMs);
    const startMs = Math.max(life * this.#lifeMs - offsetMs, -3_600_000) + this.shape.beginMs;
    const suffix = hash(slot * 64 + life).toString(36);
    return { slot, name: `${this.workloadName(this.workloadOfSlot(slot))}-${suffix}`, startMs };
  }

  /** End of the slot's pod at that time, Unix ms. */
  endOfPod(slot: number, timeMs: number): number {
    const { life, offsetMs } = this.#lifeOf(slot, timeMs);
    return (life + 1) * this.#lifeMs - offsetMs + this.shape.beginMs;
  }

  #lifeOf(slot: number, timeMs: number): { readonly life: number; readonly offsetMs: number } {
    const offsetMs = (hash(slot) / 2 ** 32) * this.#lifeMs;
    const life = Math.floor((timeMs - this.shape.beginMs + offsetMs) / this.#lifeMs);
    return { life, offsetMs };
  }

  /** Whether a workload has the same pods at both times. */
  isSteady(workload: number, fromMs: number, toMs: number): boolean {
    for (let slot = workload; slot < this.#slots; slot += this.workloads)
      if (this.pod(slot, fromMs).name !== this.pod(slot, toMs).name) return false;
    return true;
  }

  #podRate(workload: number): number {
    return MEAN_REQUESTS_PER_SECOND * (0.5 + hash(workload) / 2 ** 32);
  }

  #requests(workload: number, fromMs: number, toMs: number): number {
    const phase = (hash(workload + 1) / 2 ** 32) * 2 * Math.PI;
    const angle = (timeMs: number): number => ((timeMs - this.shape.beginMs) / DRIFT_PERIOD_MS) * 2 * Math.PI;
    const integral = (timeMs: number): number =>
      timeMs / 1000 - (DRIFT * (DRIFT_PERIOD_MS / 1000) * Math.cos(angle(timeMs) + phase)) / (2 * Math.PI);
    return this.#podRate(workload) * (integral(toMs) - integral(fromMs));
  }

  /** Mean request rate of all pods of a workload between two times, per second. */
  channelRate(workload: number, fromMs: number, toMs: number): number {
    const seconds = (toMs - fromMs) / 1000;
    return (this.shape.replicas * this.#requests(workload, fromMs, toMs)) / seconds;
  }

  /** Round-trip times of a node's probe interval that ends now. */
  probeRecord(node: number, timeMs: number): WorldRecord {
    const { peersPerNode, nodes } = this.shape;
    const points = Array.from({ length: peersPerNode }, (_, peer) => {
      const target = (node + 1 + peer * 37) % nodes;
      const attributes = {
        [PROBE_ATTRIBUTES.destinationNode]: this.nodeName(target),
        [PROBE_ATTRIBUTES.method]: "icmp",
        [PROBE_ATTRIBUTES.ipFamily]: "ipv4",
      };
      return { attributes, startMs: timeMs - PROBE_PERIOD_MS, timeMs, base: this.#baseMs(node, target) };
    });
    const rtt: Metric = {
      name: PROBE_METRICS.rtt,
      unit: "s",
      kind: "exponentialHistogram",
      temporality: "delta",
      points: points.map(({ base, ...point }) => ({ ...point, data: samplesAround(base) })),
    };
    const packets: Metric = {
      name: PROBE_METRICS.packets,
      kind: "sum",
      temporality: "delta",
      monotonic: true,
      points: points.flatMap(({ attributes, startMs }) =>
        ["sent", "received"].map((outcome) => ({
          attributes: { ...attributes, [PROBE_ATTRIBUTES.outcome]: outcome },
          startMs,
          timeMs,
          value: 10,
        })),
      ),
    };
    return this.#record(TOPICS.probe, node, [rtt, packets]);
  }

  usageRecord(node: number, timeMs: number): WorldRecord {
    const pods = this.#podsOf(node, timeMs);
    const attributesOf = ({ slot, name }: PodIdentity): Attributes => ({
      namespace: this.namespaceOf(this.workloadOfSlot(slot)),
      pod: name,
      container: "app",
    });
    const cpu: Metric = {
      name: "container_cpu_usage_seconds_total",
      kind: "sum",
      temporality: "cumulative",
      monotonic: true,
      points: pods.map((pod) => ({
        attributes: attributesOf(pod),
        startMs: pod.startMs,
        timeMs,
        value: (CORES_PER_POD * (timeMs - pod.startMs)) / 1000,
      })),
    };
    const memory: Metric = {
      name: "container_memory_working_set_bytes",
      kind: "gauge",
      points: pods.map((pod) => ({
        attributes: attributesOf(pod),
        timeMs,
        value: POD_MEMORY_BYTES + pod.slot,
      })),
    };
    return this.#record(TOPICS.usage, node, [cpu, memory]);
  }

  trafficRecord(node: number, timeMs: number): WorldRecord {
    const rows = this.#podsOf(node, timeMs).map((pod) => {
      const workload = this.workloadOfSlot(pod.slot);
      const target = this.targetOf(workload);
      const attributes = {
        reporter: "source",
        source_workload: this.workloadName(workload),
        source_workload_namespace: this.namespaceOf(workload),
        destination_workload: this.workloadName(target),
        destination_workload_namespace: this.namespaceOf(target),
        response_code: "200",
        pod: pod.name,
      };
      const value = Math.floor(this.#requests(workload, pod.startMs, timeMs));
      return { attributes, startMs: pod.startMs, timeMs, value };
    });
    const requests: Metric = {
      name: "istio_requests_total",
      kind: "sum",
      temporality: "cumulative",
      monotonic: true,
      points: rows,
    };
    const bytes: Metric = {
      ...requests,
      name: "istio_request_bytes_sum",
      points: rows.map((row) => ({ ...row, value: row.value * BYTES_PER_REQUEST })),
    };
    return this.#record(TOPICS.traffic, node, [requests, bytes]);
  }

  #podsOf(node: number, timeMs: number): PodIdentity[] {
    const { podsPerNode } = this.shape;
    return Array.from({ length: podsPerNode }, (_, i) => this.pod(node * podsPerNode + i, timeMs));
  }

  #record(topic: string, node: number, metrics: readonly Metric[]): WorldRecord {
    const resource = {
      [RESOURCE_ATTRIBUTES.node]: this.nodeName(node),
      [RESOURCE_ATTRIBUTES.zone]: this.zone(node),
      [RESOURCE_ATTRIBUTES.region]: this.region(node),
    };
    const points = metrics.reduce((sum, metric) => sum + metric.points.length, 0);
    return {
      topic,
      key: this.nodeName(node),
      value: encodeMetrics({ resource, scope: SCOPE, metrics }),
      points,
    };
  }

  #baseMs(a: number, b: number): number {
    if (this.zone(a) === this.zone(b)) return 0.3;
    return this.region(a) === this.region(b) ? 1.2 : 40 + 20 * ((a + b) % 5);
  }
}

function samplesAround(baseMs: number) {
  const distribution = new Distribution();
  for (let i = 0; i < 10; i++) distribution.record((baseMs * (1 + i / 50)) / 1000);
  return distribution.toData();
}

/** Returns 32 well-mixed bits. */
export function hash(value: number): number {
  let h = Math.imul(value ^ (value >>> 16), 0x7feb352d);
  h = Math.imul(h ^ (h >>> 15), 0x846ca68b);
  return (h ^ (h >>> 16)) >>> 0;
}

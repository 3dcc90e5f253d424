import { seededRandom } from "@isochrone/runtime";
import { TOPICS } from "@isochrone/telemetry";
import { counter, gauge, istio, probeMetrics, recordOf } from "./records.ts";
import { SHAPE, type Replica, type ReplicaSet } from "./replicas.ts";

const NODES = ["a", "b", "c", "d", "e", "f", "g", "h"];

/** Probes and collectors that number all they send, so that the expected counts are known. */
export class NumberedLoad {
  readonly #set: ReplicaSet;
  readonly #sequences = new Map<string, number>();
  readonly #random = seededRandom(7);
  #rounds = 0;

  constructor(replicas: ReplicaSet) {
    this.#set = replicas;
  }

  get count(): number {
    return this.#rounds;
  }

  /** One packet and 10 requests per node; some records are sent twice. */
  async round(): Promise<void> {
    this.#rounds++;
    const timeMs = this.#set.clock.now();
    for (const node of NODES) {
      await this.#send(TOPICS.probe, `${node}-probe`, node, [
        ...probeMetrics([{ target: "x", timeMs, rttsMs: [1], outcomes: { sent: 1, received: 1 } }]),
      ]);
      const labels = istio("source", node, "db", { response_code: "200" });
      await this.#send(TOPICS.traffic, `${node}-traffic`, node, [
        counter("istio_requests_total", labels, timeMs, 1000 + 10 * this.#rounds),
      ]);
      await this.#send(TOPICS.usage, `${node}-usage`, node, [
        counter(
          "container_cpu_usage_seconds_total",
          { namespace: "shop", pod: node, container: "app" },
          timeMs,
          5 + this.#rounds,
        ),
        gauge(
          "container_memory_working_set_bytes",
          { namespace: "shop", pod: node, container: "app" },
          timeMs,
          this.#rounds,
        ),
      ]);
    }
  }

  async rounds(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      await this.round();
      await this.#set.pass(500);
    }
  }

  async #send(
    topic: string,
    source: string,
    node: string,
    metrics: Parameters<typeof recordOf>[1],
  ): Promise<void> {
    const sequence = this.#sequences.get(source) ?? 0;
    this.#sequences.set(source, sequence + 1);
    const record = recordOf(node, metrics, { source, sequence, arrivedAtMs: this.#set.clock.now() });
    await this.#set.publish(topic, record);
    if (this.#random.next() < 0.1) await this.#set.publish(topic, record);
  }
}

interface Counted {
  readonly packets: number;
  readonly requests: number;
  readonly cpuSeconds: number;
  readonly memory: number;
}

function countedBy(replica: Replica, node: string, nowMs: number): Counted {
  const { links, channels, pods } = replica.tables;
  const link = links.sorted().find(({ key }) => key.source === node);
  const channel = [...channels.values()].find(({ key }) => key.source === node);
  const pod = pods.get(`shop/${node}`);
  const rate = pod?.counterIfFed("resourceContainersCpu");
  return {
    packets: link?.read(nowMs, SHAPE.panes)?.sent ?? 0,
    requests: Math.round(channel?.side("source").total("requests", nowMs, SHAPE.panes) ?? 0),
    cpuSeconds: Math.round(
      (rate?.rate(nowMs, "full") ?? 0) * (rate?.coverage.seconds(SHAPE, nowMs, SHAPE.panes) ?? 0),
    ),
    memory: pod?.memory(nowMs, "full") ?? 0,
  };
}

export function countsOf(replica: Replica, nowMs: number): Counted[] {
  return NODES.map((node) => countedBy(replica, node, nowMs));
}

/** Expected counts; the first sample of a counter is a baseline. */
export function expectedAfter(rounds: number): Counted[] {
  return NODES.map(() => ({
    packets: rounds,
    requests: 10 * (rounds - 1),
    cpuSeconds: rounds - 1,
    memory: rounds,
  }));
}

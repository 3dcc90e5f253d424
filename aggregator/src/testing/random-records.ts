import type { Random } from "@isochrone/runtime";
import { LATENCY_BUCKETS, PROBE_METRICS, type Attributes, type Metric } from "@isochrone/telemetry";
import type { IncomingRecord } from "../domain/ingest/ingest.ts";
import { bandwidthTest, counter, gauge, istio, probeMetrics, recordOf } from "./records.ts";

/** A record with the time that it is taken at. */
interface TimedRecord {
  readonly record: IncomingRecord;
  readonly nowMs: number;
}

interface Counter {
  value: number;
  startMs: number;
}

const NODES = ["a", "b", "c"];
const WORKLOADS = ["web", "db", "cache"];

/**
 * Records of three nodes' probes and collectors over some minutes: late, early, repeated and foreign ones,
 * resets, gaps and clock errors.
 */
export class RandomRecords {
  readonly #random: Random;
  readonly #counters = new Map<string, Counter>();
  readonly #sequences = new Map<string, number>();
  readonly #records: TimedRecord[] = [];
  #nowMs: number;

  constructor(random: Random, startMs: number) {
    this.#random = random;
    this.#nowMs = startMs;
  }

  make(count: number): readonly TimedRecord[] {
    for (let i = 0; i < count; i++) {
      this.#nowMs += this.#chance(0.01) ? 20_000 : Math.floor(this.#random.next() * 1500);
      const repeated = this.#chance(0.1) ? this.#records[this.#pick(this.#records.length)] : undefined;
      if (repeated === undefined) this.#records.push({ record: this.#record(), nowMs: this.#nowMs });
      else this.#records.push({ record: repeated.record, nowMs: this.#nowMs });
    }
    return this.#records;
  }

  #record(): IncomingRecord {
    const node = NODES[this.#pick(NODES.length)]!;
    const skewMs = node === "c" ? 7_000.25 : 0;
    const arrivedAtMs = this.#nowMs - Math.floor(this.#random.next() * 100);
    const sequence = (this.#sequences.get(node) ?? 0) + 1 + (this.#chance(0.05) ? 2 : 0);
    this.#sequences.set(node, sequence);
    const identity = this.#chance(0.2) ? {} : { sequence, sentAtMs: arrivedAtMs - skewMs };
    const lateMs = this.#chance(0.2) ? this.#random.next() * 140_000 : this.#random.next() * 3000;
    const timeMs = Math.max(1, arrivedAtMs - skewMs - lateMs);
    return recordOf(node, this.#metrics(timeMs), { ...identity, arrivedAtMs });
  }

  #metrics(timeMs: number): Metric[] {
    const kinds = [
      () => this.#probe(timeMs),
      () => [
        bandwidthTest(this.#node(), this.#chance(0.5) ? "tcp" : "udp", timeMs, this.#random.next() * 1e9),
      ],
      () => this.#traffic(timeMs),
      () => this.#usage(timeMs),
      () => this.#levels(timeMs),
    ];
    return kinds.filter(() => this.#chance(0.5)).flatMap((make) => make());
  }

  #probe(timeMs: number): Metric[] {
    const rttsMs = Array.from({ length: this.#pick(5) }, () => this.#random.next() * 50);
    const target = this.#node();
    const outcomes = this.#chance(0.2)
      ? { lost: 0 }
      : {
          sent: rttsMs.length + 1,
          received: rttsMs.length,
          lost: 1,
          late: this.#pick(2),
          send_error: this.#pick(2),
        };
    const method = this.#chance(0.5) ? "udp_rr" : "tcp_rr";
    const all = probeMetrics([{ target, method, timeMs, rttsMs, outcomes, variationMs: rttsMs.slice(1) }]);
    return this.#chance(0.8) ? all : all.filter(({ name }) => name === PROBE_METRICS.packets);
  }

  #traffic(timeMs: number): Metric[] {
    const labels = istio(this.#chance(0.5) ? "source" : "destination", this.#workload(), this.#workload(), {
      response_code: this.#chance(0.2) ? "503" : "200",
    });
    const id = JSON.stringify(labels);
    return [...this.#latencies(timeMs), ...this.#counts(labels, id, timeMs)];
  }

  #latencies(timeMs: number): Metric[] {
    const { response_code: code, ...ends } = istio("source", this.#workload(), "", {
      response_code: this.#chance(0.2) ? "5xx" : "",
      destination_service_name: this.#workload(),
      destination_service_namespace: this.#chance(0.9) ? "shop" : "unknown",
    });
    const labels = { ...ends, ...(code === "" ? {} : { response_code: code! }) };
    return ["5", "250", "+Inf", "7"]
      .filter(() => this.#chance(0.5))
      .map((le) => {
        const row = { ...labels, le };
        return this.#counter(LATENCY_BUCKETS, `l${JSON.stringify(row)}`, row, timeMs);
      });
  }

  #counts(labels: Attributes, id: string, timeMs: number): Metric[] {
    return ["istio_requests_total", "istio_request_bytes_sum", "istio_tcp_sent_bytes_total"]
      .filter(() => this.#chance(0.6))
      .map((name) => this.#counter(name, `${name}${id}`, labels, timeMs));
  }

  #usage(timeMs: number): Metric[] {
    const bare = { namespace: "shop", pod: this.#workload(), container: this.#chance(0.7) ? "app" : "side" };
    const pod = this.#chance(0.5) ? { ...bare, id: `/kubepods/${bare.container}` } : bare;
    const cgroup = { namespace: "shop", pod: this.#workload(), container: "", name: "" };
    const eth = { id: "/", interface: "eth0" };
    return [
      this.#counter("container_cpu_usage_seconds_total", `c${JSON.stringify(pod)}`, pod, timeMs),
      this.#counter("container_cpu_usage_seconds_total", `g${cgroup.pod}`, cgroup, timeMs),
      this.#counter("container_network_receive_bytes_total", "rx", eth, timeMs),
      this.#counter("k8s.node.network.io", "tx", { interface: "eth0", direction: "transmit" }, timeMs),
    ].filter(() => this.#chance(0.6));
  }

  #levels(timeMs: number): Metric[] {
    const pod = { namespace: "shop", pod: this.#workload() };
    return [
      gauge("container_memory_working_set_bytes", { ...pod, container: "app" }, timeMs, this.#pick(1e9)),
      gauge(
        "container_memory_working_set_bytes",
        { ...pod, container: "app", id: "/a" },
        timeMs,
        this.#pick(1e9),
      ),
      gauge("node_memory_working_set_bytes", {}, timeMs, this.#pick(1e9)),
      gauge("k8s.pod.memory.working_set", pod, timeMs, this.#pick(1e9)),
      gauge("k8s.pod.cpu.usage", pod, timeMs, this.#random.next()),
      gauge("k8s.node.cpu.usage", {}, timeMs, this.#random.next() * 4),
    ].filter(() => this.#chance(0.6));
  }

  #counter(name: string, id: string, labels: Attributes, timeMs: number): Metric {
    const known = this.#counters.get(id) ?? { value: 0, startMs: this.#chance(0.5) ? timeMs - 5000 : 0 };
    if (this.#chance(0.05)) {
      known.value = 0;
      if (known.startMs > 0) known.startMs = timeMs - 500;
    }
    if (this.#chance(0.7)) known.value += this.#pick(1000);
    this.#counters.set(id, known);
    return counter(name, labels, timeMs, known.value, known.startMs === 0 ? undefined : known.startMs);
  }

  #node(): string {
    return NODES[this.#pick(NODES.length)]!;
  }

  #workload(): string {
    return WORKLOADS[this.#pick(WORKLOADS.length)]!;
  }

  #chance(probability: number): boolean {
    return this.#random.next() < probability;
  }

  #pick(below: number): number {
    return Math.floor(this.#random.next() * below);
  }
}

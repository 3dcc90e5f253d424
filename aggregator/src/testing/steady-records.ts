import type { Random } from "@isochrone/runtime";
import { TOPICS, type Attributes, type Metric } from "@isochrone/telemetry";
import type { IncomingRecord } from "../domain/ingest/ingest.ts";
import { counter, gauge, istio, probeMetrics, recordOf } from "./records.ts";

interface ArrivingRecord {
  readonly topic: string;
  readonly record: IncomingRecord;
  readonly arrivesMs: number;
}

interface Count {
  value: number;
  startMs: number;
}

export const STEADY_NODES = ["a", "b", "c"];
export const STEADY_WORKLOADS = ["web", "db", "cache"];
const SCRAPE_MS = 10_000;
const RESET_CHANCE = 0.01;
const REPEAT_CHANCE = 0.1;
const LATE_CHANCE = 0.1;
const MAX_LATE_MS = 30_000;
const DELAY_MS = 50;

/** Three nodes sample every 10 s. Some records are late by up to 30 s or come twice; counters reset. */
export class SteadyRecords {
  readonly #random: Random;
  readonly #startMs: number;
  readonly #counts = new Map<string, Count>();
  readonly #sequences = new Map<string, number>();

  constructor(random: Random, startMs: number) {
    this.#random = random;
    this.#startMs = startMs;
  }

  make(rounds: number): readonly ArrivingRecord[] {
    const records: ArrivingRecord[] = [];
    for (let round = 0; round < rounds; round++)
      for (const [i, node] of STEADY_NODES.entries()) {
        const timeMs = this.#startMs + round * SCRAPE_MS + i * 137 + this.#below(300);
        const sampledMs = timeMs - this.#skewOf(node);
        records.push(...this.#arrivals(TOPICS.probe, node, this.#probe(node, sampledMs), timeMs));
        records.push(...this.#arrivals(TOPICS.traffic, node, this.#traffic(node, i, sampledMs), timeMs));
        records.push(...this.#arrivals(TOPICS.usage, node, this.#usage(node, i, sampledMs), timeMs));
      }
    return records.sort((a, b) => a.arrivesMs - b.arrivesMs);
  }

  #arrivals(topic: string, node: string, metrics: readonly Metric[], timeMs: number): ArrivingRecord[] {
    const source = `${topic}/${node}`;
    const sequence = (this.#sequences.get(source) ?? 0) + 1;
    this.#sequences.set(source, sequence);
    const isLate = this.#random.next() < LATE_CHANCE;
    const arrivesMs = timeMs + DELAY_MS + this.#below(isLate ? MAX_LATE_MS : 300);
    const sentAtMs = arrivesMs - DELAY_MS - this.#skewOf(node);
    const record = recordOf(node, metrics, { source, sequence, sentAtMs, arrivedAtMs: arrivesMs });
    const isRepeated = this.#random.next() < REPEAT_CHANCE;
    const again = isRepeated ? [{ topic, record, arrivesMs: arrivesMs + this.#below(5000) }] : [];
    return [{ topic, record, arrivesMs }, ...again];
  }

  #probe(node: string, timeMs: number): Metric[] {
    return probeMetrics(
      STEADY_NODES.filter((target) => target !== node).map((target) => ({
        target,
        method: "udp_rr",
        timeMs,
        rttsMs: Array.from({ length: 10 }, () => this.#random.next() * 50),
        outcomes: { sent: 10, received: 10, lost: 0 },
      })),
    );
  }

  #traffic(node: string, i: number, timeMs: number): Metric[] {
    const metrics: Metric[] = [];
    for (const source of STEADY_WORKLOADS)
      for (const target of STEADY_WORKLOADS) {
        const labels = istio(i === 0 ? "source" : "destination", source, target, { pod: node });
        for (const name of ["istio_requests_total", "istio_request_bytes_sum"])
          metrics.push(this.#counter(name, `${name} ${node} ${source} ${target}`, labels, timeMs));
      }
    return metrics;
  }

  #usage(node: string, i: number, timeMs: number): Metric[] {
    const pod = { namespace: "shop", pod: STEADY_WORKLOADS[i]!, container: "app" };
    return [
      this.#counter("container_cpu_usage_seconds_total", `cpu ${node}`, pod, timeMs),
      gauge("container_memory_working_set_bytes", pod, timeMs, this.#below(1e9)),
    ];
  }

  #counter(name: string, id: string, labels: Attributes, timeMs: number): Metric {
    const known = this.#counts.get(id) ?? { value: 0, startMs: this.#startMs - 5000 };
    if (this.#random.next() < RESET_CHANCE) Object.assign(known, { value: 0, startMs: timeMs - 500 });
    known.value += this.#below(1000);
    this.#counts.set(id, known);
    return counter(name, labels, timeMs, known.value, known.startMs);
  }

  /** Clock skew of a node. */
  #skewOf(node: string): number {
    return node === "c" ? 4_000 : 0;
  }

  #below(limit: number): number {
    return Math.floor(this.#random.next() * limit);
  }
}

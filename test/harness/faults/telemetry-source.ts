import { setTimeout as sleep } from "node:timers/promises";
import { BufferedPublisher } from "@isochrone/bus";
import { OtlpHttpPublisher } from "@isochrone/bus/testing";
import { DEFAULT_BACKOFF, systemClock, systemRandom } from "@isochrone/runtime";
import {
  Distribution,
  encodeMetrics,
  PROBE_METRICS,
  RESOURCE_ATTRIBUTES,
  TOPICS,
  type Metric,
} from "@isochrone/telemetry";

interface TelemetrySourceOptions {
  /** Nodes of the same region are near each other. */
  readonly nodes: readonly { readonly name: string; readonly region: string }[];
  readonly namespace: string;
  readonly channel: readonly [source: string, target: string];
  readonly urls: readonly string[];
}

const INTERVAL_MS = 500;
const SAMPLES_PER_RECORD = 30;
const NEAR_MS = 1;
const BYTES_PER_SECOND = 100_000;

/** Publishes twice per second until closed. Buffers undeliverable records for a while. */
export class TelemetrySource {
  farMs: number;
  silent = false;
  readonly #options: TelemetrySourceOptions;
  readonly #publishers: readonly BufferedPublisher[];
  readonly #beganMs = Date.now();
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;

  constructor(options: TelemetrySourceOptions, farMs: number) {
    this.#options = options;
    this.farMs = farMs;
    this.#publishers = options.urls.map((url, index) => {
      const publisher = new OtlpHttpPublisher({ url: `${url}/v1/metrics`, timeoutMs: 2_000 });
      return new BufferedPublisher({
        publisher,
        source: `test/${index}`,
        clock: systemClock,
        random: systemRandom,
        // Short retries, so that a returning receiver gets the truth soon. Tests wait for its reaction only.
        backoff: { ...DEFAULT_BACKOFF, initialMs: 200, maxMs: 1_000 },
        catchUpSpreadMs: 0,
      });
    });
    this.#running = this.#run();
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await Promise.all(this.#publishers.map((publisher) => publisher.close(0)));
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      if (!this.silent) this.#say(Date.now());
      await sleep(INTERVAL_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  #say(timeMs: number): void {
    const { nodes, channel } = this.#options;
    for (const publisher of this.#publishers) {
      // A single record takes effect atomically, so no snapshot falls between two nodes.
      const reports = nodes.map(({ name }) => encode(name, this.#roundTrips(name, timeMs)));
      publisher.offer(TOPICS.probe, nodes[0]!.name, Buffer.concat(reports));
      publisher.offer(TOPICS.traffic, channel[0], encode(channel[0], this.#traffic(timeMs)));
    }
  }

  #roundTrips(source: string, timeMs: number): Metric {
    const { nodes } = this.#options;
    const from = nodes.find(({ name }) => name === source)!;
    const others = nodes.filter(({ name }) => name !== source);
    return {
      kind: "exponentialHistogram",
      name: PROBE_METRICS.rtt,
      unit: "s",
      temporality: "delta",
      points: others.map(({ name, region }) => ({
        attributes: { destination_node: name, method: "udp_rr", ip_family: "4" },
        startMs: timeMs - INTERVAL_MS,
        timeMs,
        data: samplesOf(region === from.region ? NEAR_MS : this.farMs),
      })),
    };
  }

  #traffic(timeMs: number): Metric {
    const { namespace, channel } = this.#options;
    const attributes = {
      reporter: "source",
      source_workload: channel[0],
      source_workload_namespace: namespace,
      destination_workload: channel[1],
      destination_workload_namespace: namespace,
    };
    const value = Math.round(((timeMs - this.#beganMs) / 1000) * BYTES_PER_SECOND);
    return {
      kind: "sum",
      name: "istio_tcp_sent_bytes_total",
      temporality: "cumulative",
      monotonic: true,
      points: [{ attributes, startMs: this.#beganMs, timeMs, value }],
    };
  }
}

function samplesOf(rttMs: number) {
  const distribution = new Distribution();
  for (let sample = 0; sample < SAMPLES_PER_RECORD; sample++) distribution.record(rttMs / 1000);
  return distribution.toData();
}

function encode(source: string, metric: Metric): Uint8Array {
  const resource = { [RESOURCE_ATTRIBUTES.node]: source };
  return encodeMetrics({ resource, scope: { name: "test" }, metrics: [metric] });
}

// Honest load next to a flood. All comes from 127.0.0.1.
import { BufferedPublisher } from "@isochrone/bus";
import { OtlpHttpPublisher } from "@isochrone/bus/testing";
import { systemClock, systemRandom, type Fetch } from "@isochrone/runtime";
import {
  Distribution,
  encodeMetrics,
  PROBE_ATTRIBUTES,
  PROBE_METRICS,
  RESOURCE_ATTRIBUTES,
  TOPICS,
  type Metric,
} from "@isochrone/telemetry";
import type { ClusterGraphSnapshot } from "@isochrone/topology";
import { bearer, probeToken, READER_TOKEN } from "./accounts.ts";

const PEERS = 5;
const PUBLISH_MS = 5_000;
const READ_MS = 500;
const STREAM_MS = 5_000;
const READ_TIMEOUT_MS = 10_000;
const SAMPLES = 5;
/** Bucket width of a distribution, rounded up. */
const TOLERANCE = 0.03;

/** Round trip reported by honest probes for a pair. */
function truthMs(source: number, target: number): number {
  return 5 + source * 3 + target;
}

interface Seen {
  /** Age of a reader's newest graph, sampled at a fixed interval. */
  readonly agesMs: readonly number[];
  readonly healthFailures: number;
  readonly streams: number;
  readonly streamFailures: number;
  readonly dropped: number;
}

export class Honest {
  readonly #url: string;
  readonly #nodes: readonly string[];
  readonly #publishers: BufferedPublisher[];
  readonly #stopped = new AbortController();
  readonly #running: Promise<void>[] = [];
  readonly #agesMs: number[] = [];
  #newestMs = Date.now();
  #healthFailures = 0;
  #streams = 0;
  #streamFailures = 0;
  #dropped = 0;

  constructor(url: string, nodes: readonly string[]) {
    this.#url = url;
    this.#nodes = nodes;
    this.#publishers = nodes.map(
      (node) =>
        new BufferedPublisher({
          publisher: new OtlpHttpPublisher({ url: `${url}/v1/metrics`, fetch: fetchAs(probeToken(node)) }),
          source: `probe/${node}`,
          epoch: "honest",
          clock: systemClock,
          random: systemRandom,
          onDropped: () => this.#dropped++,
        }),
    );
  }

  start(): void {
    this.#running.push(
      this.#every(PUBLISH_MS, async () => this.#publish()),
      this.#every(READ_MS, () => this.#read()),
      this.#every(STREAM_MS, () => this.#openStream()),
    );
    // The graph ages while a read hangs, so sample independently.
    this.#running.push(this.#every(READ_MS, async () => void this.#agesMs.push(Date.now() - this.#newestMs)));
  }

  get seen(): Seen {
    return {
      agesMs: this.#agesMs,
      healthFailures: this.#healthFailures,
      streams: this.#streams,
      streamFailures: this.#streamFailures,
      dropped: this.#dropped,
    };
  }

  /** Missing or wrong honest links, and unreported links of honest nodes. */
  async faults(): Promise<{ readonly absent: number; readonly wrong: number; readonly invented: number }> {
    const { links } = await this.#get<ClusterGraphSnapshot>("/api/v1/graph/cluster");
    const found = new Map(links.map((link) => [`${link.source} ${link.target}`, link]));
    const faults = { absent: 0, wrong: 0, invented: 0 };
    for (const [source, target] of this.#pairs()) {
      const key = `${this.#nodes[source]} ${this.#nodes[target]}`;
      const p50 = found.get(key)?.rttMs.p50 ?? null;
      found.delete(key);
      const truth = truthMs(source, target);
      if (p50 === null) faults.absent++;
      else if (Math.abs(p50 - truth) > TOLERANCE * truth) faults.wrong++;
    }
    const known = new Set(this.#nodes);
    faults.invented = [...found.values()].filter(
      ({ origin, source }) => origin === "measured" && known.has(source),
    ).length;
    return faults;
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await Promise.allSettled(this.#running);
    await Promise.allSettled(this.#publishers.map((publisher) => publisher.close()));
  }

  *#pairs(): Generator<readonly [source: number, target: number]> {
    for (let source = 0; source < this.#nodes.length; source++)
      for (let step = 1; step <= PEERS; step++) yield [source, (source + step) % this.#nodes.length];
  }

  #publish(): void {
    const timeMs = Date.now();
    const bySource = Map.groupBy(this.#pairs(), ([source]) => source);
    for (const [source, pairs] of bySource) {
      const publisher = this.#publishers[source]!;
      const metrics = pairs.flatMap(([, target]) =>
        rttMetrics(this.#nodes[target]!, truthMs(source, target), timeMs),
      );
      const resource = {
        [RESOURCE_ATTRIBUTES.node]: this.#nodes[source]!,
        [RESOURCE_ATTRIBUTES.serviceName]: "isochrone-probe",
      };
      publisher.offer(
        TOPICS.probe,
        this.#nodes[source]!,
        encodeMetrics({ resource, scope: { name: "soak" }, metrics }),
      );
      // The publisher keeps unsent records for the next flush.
      publisher.flush().catch(() => undefined);
    }
  }

  async #read(): Promise<void> {
    try {
      await this.#get("/healthz");
    } catch {
      this.#healthFailures++;
    }
    const { observedAt } = await this.#get<ClusterGraphSnapshot>("/api/v1/graph/cluster");
    this.#newestMs = Math.max(this.#newestMs, Date.parse(observedAt));
  }

  async #openStream(): Promise<void> {
    const response = await fetch(`${this.#url}/api/v1/events`, {
      signal: AbortSignal.timeout(READ_TIMEOUT_MS),
      headers: bearer(READER_TOKEN),
    });
    if (response.ok) this.#streams++;
    else this.#streamFailures++;
    await response.body?.cancel();
  }

  async #get<T>(path: string): Promise<T> {
    const response = await fetch(this.#url + path, {
      signal: AbortSignal.timeout(READ_TIMEOUT_MS),
      headers: bearer(READER_TOKEN),
    });
    if (!response.ok) throw new Error(`${path} answered ${response.status}`);
    return (await response.json()) as T;
  }

  async #every(intervalMs: number, work: () => Promise<void>): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      const nextMs = Date.now() + intervalMs;
      await work().catch(() => undefined);
      await systemClock.sleep(Math.max(0, nextMs - Date.now()), signal).catch(() => undefined);
    }
  }
}

function fetchAs(token: string): Fetch {
  return (url, init) => {
    const headers = new Headers(init?.headers);
    headers.set("authorization", bearer(token).authorization);
    return fetch(url, { ...init, headers });
  };
}

export function rttMetrics(target: string, rttMs: number, timeMs: number): Metric[] {
  const distribution = new Distribution();
  distribution.record(rttMs / 1000, SAMPLES);
  const attributes = {
    [PROBE_ATTRIBUTES.destinationNode]: target,
    [PROBE_ATTRIBUTES.method]: "udp_rr",
    [PROBE_ATTRIBUTES.ipFamily]: 4,
  };
  const time = { startMs: timeMs - PUBLISH_MS, timeMs };
  const packets = ["sent", "received"].map((outcome) => ({
    attributes: { ...attributes, outcome },
    ...time,
    value: SAMPLES,
    integer: true,
  }));
  return [
    {
      name: PROBE_METRICS.rtt,
      unit: "s",
      kind: "exponentialHistogram",
      temporality: "delta",
      points: [{ attributes, ...time, data: distribution.toData() }],
    },
    { name: PROBE_METRICS.packets, kind: "sum", temporality: "delta", monotonic: true, points: packets },
  ];
}

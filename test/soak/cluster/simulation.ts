// Checks an aggregator's graphs and cost on a simulated cluster with a real broker.
import { upperMedian } from "@isochrone/primitives";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import type { KafkaBusOptions } from "@isochrone/bus/kafka";
import type { WorkflowGraphSnapshot } from "@isochrone/topology";
import { startKafka } from "../../harness/kafka/index.ts";
import { processUse } from "../proc.ts";
import type { SoakAggregatorTask, SoakProducerLine, SoakProducerTask } from "./processes.ts";
import { hash, World, type WorldShape } from "./world.ts";

interface SimulationOptions {
  readonly nodes: number;
  readonly podsPerNode: number;
  /** Also the maximum lag between counters; at most a quarter of the window. */
  readonly scrapePeriodMs: number;
  /** Longer than the window, so that all counters are known from its start. */
  readonly durationMs: number;
  readonly windowMs: number;
  readonly producers: number;
  readonly client: KafkaBusOptions["client"];
  readonly sampledChannels: number;
  readonly log: (line: string) => void;
}

export interface ClusterSample {
  readonly atMs: number;
  readonly points: number;
  readonly recordsInWindows: number;
  readonly rssBytes: number;
  readonly cpuSeconds: number;
  readonly series: number;
  /** Sum over all input partitions. Null: unknown. */
  readonly lagRecords: number | null;
  readonly missing: number;
  readonly duplicates: number;
}

interface ChannelErrors {
  readonly compared: number;
  readonly absent: number;
  /** Channels with a pod replaced in the window. Traffic after the pod's last scrape is unknown. */
  readonly churned: number;
  readonly churnedLargest: number;
  readonly median: number;
  readonly largest: number;
  /** Maximum over channels whose pods all lived through the window. */
  readonly steadyLargest: number;
  readonly above1Percent: number;
}

interface SimulationResult {
  readonly samples: readonly ClusterSample[];
  /** Points published, and points counted by the aggregator. */
  readonly published: number;
  readonly counted: number;
  readonly channels: ChannelErrors;
  readonly links: number;
  readonly pointsPerSecond: number;
}

/** Recommended in docs/operations.md for a replica of 2 GiB. */
const AGGREGATOR_FLAGS = ["--max-old-space-size=1152", "--max-semi-space-size=32"];
/** Returns the memory of record batches to the system. */
const AGGREGATOR_MALLOC = {
  MALLOC_ARENA_MAX: "2",
  MALLOC_MMAP_THRESHOLD_: "65536",
  MALLOC_TRIM_THRESHOLD_: "131072",
};
const MAX_LOG = 100_000;
const SAMPLE_MS = 5000;
const PEERS_PER_NODE = 12;
const REPLICAS = 10;
const START_MS = 180_000;
const SETTLE_MS = 120_000;
/** Maximum time between a scrape and its record's arrival. */
const LAG_MARGIN_MS = 2000;
const PANE_MS = 10_000;

export async function simulate(options: SimulationOptions): Promise<SimulationResult> {
  const { nodes, podsPerNode, scrapePeriodMs, client, producers, windowMs, durationMs, log } = options;
  const shape: WorldShape = {
    nodes,
    podsPerNode,
    peersPerNode: PEERS_PER_NODE,
    replicas: REPLICAS,
    churnPerMinute: 0.01,
    scrapePeriodMs,
    beginMs: Date.now(),
  };
  const world = new World(shape);
  const kafka = await startKafka({ brokers: 1 });
  const children: Child[] = [];
  try {
    const settings = {
      windowMs,
      paneMs: PANE_MS,
      buildIntervalMs: 10_000,
      counterLagMs: scrapePeriodMs + LAG_MARGIN_MS,
    };
    const task: SoakAggregatorTask = { client, brokers: kafka.brokers, shape, settings };
    const aggregator = new Child("aggregator-process.ts", task, AGGREGATOR_FLAGS, AGGREGATOR_MALLOC);
    children.push(aggregator);
    const url = await aggregator.firstLine(START_MS);
    log(`aggregator with ${nodes} nodes and ${nodes * podsPerNode} pods listens on ${url}`);
    const share = Math.ceil(nodes / producers);
    const senders = Array.from({ length: producers }, (_, i) => {
      const firstNode = i * share;
      const part: SoakProducerTask = {
        client,
        brokers: kafka.brokers,
        shape,
        firstNode,
        nodes: Math.min(share, nodes - firstNode),
      };
      return new Child("producer-process.ts", part);
    });
    children.push(...senders);
    const published = (): SoakProducerLine[] => senders.map(({ latest }) => latest as SoakProducerLine);
    const samples: ClusterSample[] = [];
    while (published().some((line) => !(line?.points > 0))) await delay(100);
    const beganMs = Date.now();
    while (Date.now() - beganMs < durationMs) {
      await delay(SAMPLE_MS);
      const sample = await look(url, aggregator.pid, Date.now() - beganMs);
      samples.push(sample);
      const sent = total(published(), "points");
      log(
        `${Math.round(sample.atMs / 1000)} s  published ${sent}, counted ${sample.points}, lag ${sample.lagRecords ?? "?"} records, ` +
          `${Math.round(sample.rssBytes / 2 ** 20)} MiB, ${sample.series} series, missing ${sample.missing}, duplicates ${sample.duplicates}`,
      );
    }
    const endMs = Date.now();
    for (const sender of senders) await sender.finish();
    const sent = total(published(), "points");
    const counted = await settled(url, aggregator.pid, published());
    if (counted !== sent) log(`the aggregator's log ends with:\n${aggregator.log.slice(-4000)}`);
    const channels = await compareChannels(url, world, endMs, options);
    const links = (await json<{ links: unknown[] }>(`${url}/api/v1/graph/cluster`)).links.length;
    const pointsPerSecond = sent / ((Date.now() - beganMs) / 1000);
    return { samples, published: sent, counted, channels, links, pointsPerSecond };
  } finally {
    await Promise.all(children.map((child) => child.finish()));
    await kafka.close();
  }
}

/** Least-squares slope of memory in the second half, relative to its mean there. */
export function memorySlope(samples: readonly ClusterSample[]): number {
  const half = samples.slice(Math.floor(samples.length / 2));
  const meanAt = half.reduce((sum, { atMs }) => sum + atMs, 0) / half.length;
  const mean = half.reduce((sum, { rssBytes }) => sum + rssBytes, 0) / half.length;
  const covariance = half.reduce((sum, { atMs, rssBytes }) => sum + (atMs - meanAt) * (rssBytes - mean), 0);
  const variance = half.reduce((sum, { atMs }) => sum + (atMs - meanAt) ** 2, 0);
  return ((covariance / variance) * (half.at(-1)!.atMs - half[0]!.atMs)) / mean;
}

/**
 * Compares graphs built after all records were counted. Rates end at the last update of all counters.
 * @param endMs time of the last records
 */
async function compareChannels(
  url: string,
  world: World,
  endMs: number,
  { sampledChannels, scrapePeriodMs, windowMs }: SimulationOptions,
): Promise<ChannelErrors> {
  const countedMs = Date.now();
  const { workflows } = await json<{ workflows: { namespace: string; name: string }[] }>(
    `${url}/api/v1/graph/workflows`,
  );
  const seen = new Map<string, { readonly rate: number; readonly observedMs: number }>();
  for (const { namespace, name } of workflows) {
    const path = `${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
    const graph = await builtAfter(`${url}/api/v1/graph/workflows/${path}`, countedMs);
    const observedMs = Date.parse(graph.observedAt);
    for (const { source, requestsPerSecond: rate } of graph.channels)
      if (rate !== null) seen.set(source, { rate, observedMs });
  }
  const toMs = Math.floor((endMs - scrapePeriodMs - LAG_MARGIN_MS) / PANE_MS) * PANE_MS;
  const steady: number[] = [];
  const churned: number[] = [];
  let absent = 0;
  for (let i = 0; i < sampledChannels; i++) {
    const workload = hash(i) % world.workloads;
    const channel = seen.get(world.workloadName(workload));
    if (channel === undefined) {
      absent++;
      continue;
    }
    const { rate, observedMs } = channel;
    const fromMs = Math.floor(observedMs / PANE_MS) * PANE_MS + PANE_MS - windowMs;
    const isSteady = world.isSteady(workload, fromMs - scrapePeriodMs, endMs);
    (isSteady ? steady : churned).push(Math.abs(rate / world.channelRate(workload, fromMs, toMs) - 1));
  }
  const errors = [...steady, ...churned].toSorted((a, b) => a - b);
  return {
    compared: errors.length,
    absent,
    churned: churned.length,
    churnedLargest: Math.max(0, ...churned),
    median: upperMedian(errors) ?? Number.NaN,
    largest: errors.at(-1) ?? Number.NaN,
    steadyLargest: Math.max(0, ...steady),
    above1Percent: errors.filter((error) => error > 0.01).length,
  };
}

async function builtAfter(url: string, timeMs: number): Promise<WorkflowGraphSnapshot> {
  for (;;) {
    const graph = await json<WorkflowGraphSnapshot>(url);
    if (Date.parse(graph.observedAt) > timeMs) return graph;
    await delay(500);
  }
}

/** Returns the counted points once all records are in the windows or time is up. */
async function settled(url: string, pid: number, lines: readonly SoakProducerLine[]): Promise<number> {
  const deadlineMs = Date.now() + SETTLE_MS;
  for (;;) {
    const { points, recordsInWindows } = await look(url, pid, 0);
    const isDone = points >= total(lines, "points") && recordsInWindows >= total(lines, "records");
    if (isDone || Date.now() > deadlineMs) return points;
    await delay(500);
  }
}

async function look(url: string, pid: number, atMs: number): Promise<ClusterSample> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const use = processUse(pid);
  if (use === null) throw new Error("the aggregator has gone");
  return {
    atMs,
    points: sumOf(text, "isochrone_aggregator_points_total") ?? 0,
    // One age per record, unless a delta has thousands.
    recordsInWindows: sumOf(text, "isochrone_aggregator_sample_age_seconds_count") ?? 0,
    rssBytes: use.rssBytes,
    cpuSeconds: use.cpuSeconds,
    series: sumOf(text, "isochrone_aggregator_series") ?? 0,
    lagRecords: sumOf(text, "isochrone_consumer_lag_records"),
    missing: sumOf(text, "isochrone_records_missing_total") ?? 0,
    duplicates: sumOf(text, "isochrone_aggregator_duplicate_records_total") ?? 0,
  };
}

function sumOf(text: string, family: string): number | null {
  const rows = [...text.matchAll(new RegExp(`^${family}(?:\\{[^}]*\\})? (\\S+)`, "gm"))];
  return rows.length === 0 ? null : rows.reduce((sum, [, value]) => sum + Number(value), 0);
}

function total(lines: readonly SoakProducerLine[], field: "points" | "records" | "failures"): number {
  return lines.reduce((sum, line) => sum + (line?.[field] ?? 0), 0);
}

async function json<T>(url: string): Promise<T> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}

class Child {
  readonly #process: ChildProcess;
  readonly #exit: Promise<unknown>;
  readonly #first = Promise.withResolvers<string>();
  #log = "";
  latest: unknown;

  constructor(
    script: string,
    task: unknown,
    flags: readonly string[] = [],
    environment: Readonly<Record<string, string>> = {},
  ) {
    const args = [...flags, join(import.meta.dirname, script), JSON.stringify(task)];
    this.#process = spawn(process.execPath, args, {
      stdio: ["pipe", "pipe", "pipe"],
      env: { ...process.env, ...environment },
    });
    this.#exit = once(this.#process, "exit").then(() =>
      this.#first.reject(new Error(`${script} ended: ${this.#log.slice(-2000)}`)),
    );
    this.#first.promise.catch(() => undefined);
    createInterface({ input: this.#process.stdout! }).on("line", (line) => {
      this.#first.resolve(line);
      if (line.startsWith("{")) this.latest = JSON.parse(line);
    });
    this.#process.stderr!.on("data", (chunk: Buffer) => {
      this.#log = (this.#log + chunk.toString()).slice(-MAX_LOG);
    });
  }

  get log(): string {
    return this.#log;
  }

  get pid(): number {
    return this.#process.pid!;
  }

  async firstLine(timeoutMs: number): Promise<string> {
    const timer = setTimeout(
      () => this.#first.reject(new Error(`no line in ${timeoutMs} ms: ${this.#log.slice(-2000)}`)),
      timeoutMs,
    );
    try {
      return await this.#first.promise;
    } finally {
      clearTimeout(timer);
    }
  }

  async finish(): Promise<void> {
    this.#process.stdin!.end();
    const timer = setTimeout(() => this.#process.kill("SIGKILL"), 20_000);
    await this.#exit;
    clearTimeout(timer);
  }
}

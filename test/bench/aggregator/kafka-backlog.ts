import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { OutgoingRecord } from "@isochrone/bus";
import { openBus } from "@isochrone/bus/open";
import { busSettings } from "@isochrone/bus/settings";
import { createLogger, createRegistry, loadSettings, systemClock, systemRandom } from "@isochrone/runtime";
import { SPEAKER_HEADER, sealedBus } from "@isochrone/bus/seal";
import { encodeHeaders, TOPICS } from "@isochrone/telemetry";
import { startKafka } from "../../harness/kafka/index.ts";
import { mixRound, PEERS_PER_NODE, POINTS_PER_NODE } from "../telemetry/mix.ts";
import { processUse } from "../../soak/proc.ts";
import { benchRecordKeys, MESH_SPEAKER } from "./bench-record-keys.ts";
import { confineTo, splitCores } from "./cores.ts";

const NODES = 1000;
const ROUNDS = 20;
const ROUND_MS = 10_000;
const RECORDS_PER_NODE = 3;
const NODES_PER_CALL = 100;
const CHURN_RATIO = 0.01 / 6;
const POLL_MS = 250;
const DEADLINE_MS = 300_000;
const BUILD_DEADLINE_MS = 30_000;

export interface Progress {
  readonly atMs: number;
  /** Points of records in the windows. */
  readonly points: number;
  readonly cpuSeconds: number;
}

export interface BacklogRun {
  readonly progress: readonly Progress[];
  readonly pinned: string;
}

/** @param sealed whether records are sealed and the aggregator verifies and seals */
export async function takeBacklog(sealed: boolean): Promise<BacklogRun> {
  const cores = splitCores();
  if (cores !== null) confineTo(cores.others);
  const kafka = await startKafka({ brokers: 1, heapMegabytes: 512 });
  let aggregator: ChildProcess | null = null;
  try {
    await publishMix(kafka.brokers, sealed);
    aggregator = startAggregator(kafka.brokers, cores?.measured ?? null, sealed);
    const lines = createInterface({ input: aggregator.stdout! });
    const [url] = (await once(lines, "line")) as [string];
    const progress = await consume(url, aggregator.pid!);
    await verify(url);
    return { progress, pinned: cores === null ? "not pinned" : "pinned to one core" };
  } finally {
    if (aggregator !== null) {
      const ended = once(aggregator, "exit");
      aggregator.stdin!.end();
      await ended;
    }
    await kafka.close();
  }
}

async function publishMix(brokers: readonly string[], sealed: boolean): Promise<void> {
  const { bus: settings } = loadSettings([busSettings], {
    env: {},
    overrides: { bus: { kind: "kafka", brokers, replicationFactor: 1 } },
  });
  const { bus: open, service } = await openBus(settings, {
    clock: systemClock,
    random: systemRandom,
    logger: createLogger({ service: "mix", level: "error", destination: process.stderr }),
    registry: createRegistry(),
    memory: {},
  });
  await service.start();
  const bus = sealed ? sealedBus(open, (await benchRecordKeys()).sealingKey) : open;
  const startMs = Date.now() - ROUNDS * ROUND_MS;
  for (let round = 1; round <= ROUNDS; round++) {
    let records: { topic: string; record: OutgoingRecord }[] = [];
    const mix = mixRound(round, { nodes: NODES, churnRatio: CHURN_RATIO, startMs, roundMs: ROUND_MS });
    const send = async (): Promise<void> => {
      for (const [topic, ofTopic] of Map.groupBy(records, (each) => each.topic))
        await bus.publish(
          topic,
          ofTopic.map(({ record }) => record),
        );
      records = [];
    };
    for (const { topic, key, value } of mix) {
      const source = `${topic}/${key}`;
      const headers: Record<string, string> = encodeHeaders({
        source,
        epoch: "bench",
        sequence: round,
        sentAtMs: Date.now(),
      });
      // The traffic's workloads have no pods here, so no node may report on them.
      headers[SPEAKER_HEADER] = topic === TOPICS.traffic ? `service/${MESH_SPEAKER}` : `node/${key}`;
      records.push({ topic, record: { key, value, headers } });
      if (records.length === NODES_PER_CALL * RECORDS_PER_NODE) await send();
    }
    await send();
  }
  await service.stop();
}

function startAggregator(brokers: readonly string[], core: string | null, sealed: boolean): ChildProcess {
  const program = fileURLToPath(new URL("kafka-aggregator.ts", import.meta.url));
  const command = [process.execPath, program, ...(sealed ? ["--sealed"] : []), ...brokers];
  const [first, ...rest] = core === null ? command : ["taskset", "-c", core, ...command];
  return spawn(first!, rest, { stdio: ["pipe", "pipe", "inherit"] });
}

async function consume(url: string, pid: number): Promise<Progress[]> {
  const all: Progress[] = [];
  const deadlineMs = Date.now() + DEADLINE_MS;
  for (;;) {
    const progress = await look(url, pid);
    all.push(progress);
    if (progress.points >= NODES * POINTS_PER_NODE * ROUNDS) return all;
    if (Date.now() > deadlineMs)
      throw new Error(`expected ${NODES * POINTS_PER_NODE * ROUNDS} points, got ${progress.points}`);
    await delay(POLL_MS);
  }
}

async function look(url: string, pid: number): Promise<Progress> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const value = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1] ?? 0);
  const records = value("isochrone_aggregator_records_total");
  return {
    atMs: performance.now(),
    points: Math.round((records * POINTS_PER_NODE) / RECORDS_PER_NODE),
    cpuSeconds: processUse(pid)?.cpuSeconds ?? 0,
  };
}

async function verify(url: string): Promise<void> {
  const deadlineMs = Date.now() + BUILD_DEADLINE_MS;
  for (;;) {
    const answer = await fetch(`${url}/api/v1/graph/cluster`);
    // There is no graph before the first build after the backlog.
    const { links = [] } = (await answer.json()) as { links?: { rttMs: { count: number } }[] };
    const counted = links.filter(({ rttMs }) => rttMs.count > 0).length;
    if (counted === NODES * PEERS_PER_NODE) return;
    if (Date.now() > deadlineMs)
      throw new Error(`expected ${NODES * PEERS_PER_NODE} links with samples, got ${counted}`);
    await delay(1000);
  }
}

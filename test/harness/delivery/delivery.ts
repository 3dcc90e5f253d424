// The exactly counted delivery run, with faults and a verdict by the producers' ledgers.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { KafkaBusOptions } from "@isochrone/bus/kafka";
import { seededRandom } from "@isochrone/runtime";
import type { KafkaCluster } from "../kafka/index.ts";
import { ReapedFolder } from "../common/reaped-folder.ts";
import { AggregatorProcess } from "./aggregator-process.ts";
import { aggregatorEnvironment } from "./environment.ts";
import { injectFaults, type FaultPlan, type Victim } from "./faults.ts";
import { loopbackTestbed, namespaceTestbed, type Testbed, type Seat } from "./testbed.ts";
import { readLedger } from "./ledger.ts";
import { Producer } from "./producer.ts";
import { isExact, judge, type Verdict } from "./verdict.ts";

/** Killed by SIGKILL, terminated (`replica`), or unplugged, which needs `testbed: "namespaces"`. */
type VictimKind = "broker" | "aggregator" | "replica" | "broker cable" | "aggregator cable";

export interface DeliveryOptions {
  /** Total number of records. */
  readonly records: number;
  readonly perSecond: number;
  readonly producers: number;
  readonly aggregators: number;
  readonly brokers: 1 | 3;
  /** Processes on loopback, or on nodes of a network namespace lab. @default "loopback" */
  readonly testbed?: "loopback" | "namespaces";
  readonly client: KafkaBusOptions["client"];
  readonly faults: FaultPlan;
  readonly victims: readonly VictimKind[];
  readonly lostAcknowledgementRatio: number;
  /** Share of records that producers resend under other numbers, as a negative control. @default 0 */
  readonly renumberedRatio?: number;
  /** Extra settings of the aggregators. */
  readonly aggregatorEnv?: Readonly<Record<string, string>>;
  readonly seed: number;
  /** Called when all processes run. The run awaits `end` after the last record. */
  readonly watch?: (aggregators: readonly AggregatorProcess[]) => { end(): Promise<void> };
  readonly log: (line: string) => void;
}

interface DeliveryResult {
  readonly verdicts: readonly Verdict[];
  readonly exact: boolean;
  readonly seconds: number;
  readonly failures: number;
}

const NODES_PER_PRODUCER = 12;
const PEERS_PER_NODE = 10;
const BUFFER_RECORDS = 50_000;
const READY_MS = 90_000;
/** Timeout of the graphs after the last record, and time without change before the verdict. */
const SETTLE_MS = 60_000;
const UNCHANGED_MS = 12_000;
const LOOK_MS = 1000;

export async function runDelivery(options: DeliveryOptions): Promise<DeliveryResult> {
  const folder = mkdtempSync(join(tmpdir(), "isochrone-delivery-"));
  const aggregatorNames = named("aggregator", options.aggregators);
  const producerNames = named("producer", options.producers);
  const testbed =
    options.testbed === "namespaces"
      ? await namespaceTestbed([...aggregatorNames, ...producerNames], options.brokers)
      : loopbackTestbed();
  const kafka = await testbed.startKafka(options.brokers);
  const processes = new ReapedFolder("isochrone-delivery-processes");
  const aggregators: AggregatorProcess[] = [];
  const producers: Producer[] = [];
  let exact = false;
  try {
    for (const name of aggregatorNames)
      aggregators.push(aggregatorOn(await testbed.seat(name), name, options, kafka, { folder, processes }));
    for (const aggregator of aggregators) aggregator.start();
    for (const aggregator of aggregators) await aggregator.ready(READY_MS);
    options.log(`${kafka.brokers.length} brokers and ${aggregators.length} aggregators are ready`);
    const beganMs = Date.now();
    for (const [i, name] of producerNames.entries())
      producers.push(producerOn(await testbed.seat(name), name, i, options, kafka, { folder, processes }));
    for (const producer of producers) await producer.began();
    const watching = options.watch?.(aggregators);
    const random = seededRandom(options.seed);
    const kinds = options.victims.map((kind) => victimsOf(kind, kafka, aggregators, testbed));
    await injectFaults(kinds, options.faults, random, (text) =>
      options.log(`${seconds(beganMs)} s  fault ${text}; ${progress(producers)}`),
    );
    for (const producer of producers) await producer.finished();
    await watching?.end();
    options.log(`${seconds(beganMs)} s  all sent; ${progress(producers)}`);
    const verdicts = await settledVerdicts(aggregators, producers);
    exact = verdicts.every(isExact);
    const failures = producers.reduce((sum, { latest }) => sum + latest.failures, 0);
    return { verdicts, exact, seconds: seconds(beganMs), failures };
  } finally {
    await Promise.all([...producers, ...aggregators].map((each) => each.kill()));
    await processes.remove();
    await kafka.close();
    await testbed.close();
    // Keep the logs of a failed run.
    if (exact) rmSync(folder, { recursive: true, force: true });
    else options.log(`logs and ledgers: ${folder}`);
  }
}

interface Places {
  readonly folder: string;
  readonly processes: ReapedFolder;
}

function named(kind: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${kind}-${i}`);
}

function aggregatorOn(
  seat: Seat,
  name: string,
  { client, aggregatorEnv }: DeliveryOptions,
  kafka: KafkaCluster,
  { folder, processes }: Places,
): AggregatorProcess {
  const env = {
    ...processes.environment,
    ...aggregatorEnvironment(kafka.brokers, client),
    ...aggregatorEnv,
  };
  return new AggregatorProcess({ name, seat, logPath: join(folder, `${name}.log`), env });
}

function producerOn(
  { spawn }: Seat,
  producer: string,
  i: number,
  options: DeliveryOptions,
  kafka: KafkaCluster,
  { folder, processes }: Places,
): Producer {
  return new Producer(
    {
      client: options.client,
      brokers: kafka.brokers,
      busOptions: {},
      spread: { producer, nodes: NODES_PER_PRODUCER, peers: PEERS_PER_NODE },
      records: Math.floor(options.records / options.producers),
      perSecond: options.perSecond / options.producers,
      bufferRecords: BUFFER_RECORDS,
      lostAcknowledgementRatio: options.lostAcknowledgementRatio,
      renumberedRatio: options.renumberedRatio ?? 0,
      ledgerPath: join(folder, `${producer}.ledger`),
      seed: options.seed + i,
    },
    (command, args, rest) => spawn(command, args, { ...rest, env: processes.environment }),
  );
}

function victimsOf(
  kind: VictimKind,
  kafka: KafkaCluster,
  aggregators: readonly AggregatorProcess[],
  testbed: Testbed,
): Victim[] {
  if (kind === "broker cable") {
    return testbed.brokerCables().map((setPlugged, i) => ({
      name: `cable of broker ${i + 1}`,
      takeAway: () => setPlugged(false),
      bringBack: () => setPlugged(true),
    }));
  }
  if (kind === "aggregator cable") {
    return aggregators.map(({ task }) => ({
      name: `cable of ${task.name}`,
      takeAway: async () => task.seat.setPlugged?.(false),
      bringBack: async () => task.seat.setPlugged?.(true),
    }));
  }
  if (kind === "broker") {
    return Array.from(kafka.brokers, (_, i) => ({
      name: `broker ${i + 1}`,
      takeAway: () => kafka.kill(i + 1),
      bringBack: () => kafka.restart(i + 1),
    }));
  }
  // The watcher reads the first replica, so it stays.
  const victims = kind === "replica" ? aggregators.slice(-1) : aggregators;
  return victims.map((aggregator) => ({
    name: aggregator.task.name,
    takeAway: () => (kind === "replica" ? aggregator.stop() : aggregator.kill()),
    bringBack: async () => aggregator.start(),
  }));
}

/** Polls until every replica is right or nothing changes any more. */
async function settledVerdicts(
  aggregators: readonly AggregatorProcess[],
  producers: readonly Producer[],
): Promise<Verdict[]> {
  const accounts = producers.map(({ task }) => ({ ...task, ledger: readLedger(task.ledgerPath) }));
  for (const aggregator of aggregators) await aggregator.ready(READY_MS);
  const deadlineMs = Date.now() + SETTLE_MS;
  let before = "";
  let changedMs = Date.now();
  for (;;) {
    const graphs = await Promise.all(aggregators.map((aggregator) => aggregator.clusterGraph()));
    const verdicts = graphs.map((graph) => judge(accounts, graph));
    const now = JSON.stringify(verdicts);
    if (now !== before) changedMs = Date.now();
    before = now;
    const unchanged = Date.now() - changedMs > UNCHANGED_MS;
    if (verdicts.every(isExact) || unchanged || Date.now() > deadlineMs) return verdicts;
    await delay(LOOK_MS);
  }
}

function progress(producers: readonly Producer[]): string {
  const sum = { offered: 0, acknowledged: 0, dropped: 0, failures: 0 };
  for (const { latest } of producers)
    for (const key of Object.keys(sum) as (keyof typeof sum)[]) sum[key] += latest[key];
  return `offered ${sum.offered}, acknowledged ${sum.acknowledged}, dropped ${sum.dropped}, failed attempts ${sum.failures}`;
}

function seconds(sinceMs: number): number {
  return Math.round((Date.now() - sinceMs) / 1000);
}

// Produces numbered records by the task in its first argument. Prints progress as JSON lines.
import { BufferedPublisher, BusError, type OutgoingRecord, type Publisher } from "@isochrone/bus";
import { createKafkaBus } from "@isochrone/bus/kafka";
import { createLogger, seededRandom, systemClock, systemRandom } from "@isochrone/runtime";
import { HEADERS, TOPICS } from "@isochrone/telemetry";
import { LedgerWriter } from "./ledger.ts";
import { encodeNumber } from "./numbered-records.ts";
import type { ProducerLine, ProducerTask } from "./producer.ts";

const TICK_MS = 20;
const REPORT_MS = 250;

const task = JSON.parse(process.argv[2] ?? "{}") as ProducerTask;
const { spread, records, perSecond, lostAcknowledgementRatio, renumberedRatio } = task;
const ledger = new LedgerWriter(task.ledgerPath);
const numberOf = new WeakMap<Uint8Array, number>();
const random = seededRandom(task.seed);
let acknowledged = 0;
let droppedCount = 0;
let failures = 0;

const bus = createKafkaBus({
  client: task.client,
  brokers: task.brokers,
  clientId: spread.producer,
  clock: systemClock,
  random: systemRandom,
  logger: createLogger({ service: spread.producer, level: "warn", destination: process.stderr }),
  ...task.busOptions,
});

/** Loses some acknowledgements at random, so that the publisher resends the batch. */
const noting: Publisher = {
  async publish(topic, batch, options) {
    await bus.publish(topic, batch, options);
    if (random.next() < renumberedRatio) await bus.publish(topic, batch.map(renumbered));
    if (random.next() < lostAcknowledgementRatio) throw new BusError("timeout", "acknowledgement lost");
    note(batch);
  },
};

const publisher = new BufferedPublisher({
  publisher: noting,
  source: `probe/${spread.producer}`,
  clock: systemClock,
  random: systemRandom,
  maxRecords: task.bufferRecords,
  // One producer stands in for a cluster, so it may resend as fast as one after an outage.
  catchUpRecordsPerSecond: 4 * perSecond,
  catchUpBytesPerSecond: 64 * 1024 * 1024,
  catchUpSpreadMs: 500,
  backoff: { initialMs: 50, maxMs: 1000, factor: 2, jitterRatio: 0.2 },
  onDropped(reason, count) {
    droppedCount += count;
    ledger.dropped(reason, count);
  },
  onFailure(error) {
    failures++;
    if (failures <= 20 || failures % 100 === 0) console.error(`attempt ${failures} failed: ${String(error)}`);
  },
});

function renumbered({ headers, ...record }: OutgoingRecord): OutgoingRecord {
  return { ...record, headers: { ...headers, [HEADERS.epoch]: `${headers[HEADERS.epoch]}-again` } };
}

function note(batch: readonly OutgoingRecord[]): void {
  const numbers = batch.map(({ value }) => numberOf.get(value)!);
  acknowledged += numbers.length;
  ledger.acknowledged(numbers);
}

const startMs = performance.now();
let offered = 0;
const ticking = setInterval(() => {
  const due = Math.min(records, Math.floor(((performance.now() - startMs) / 1000) * perSecond));
  for (; offered < due; offered++) {
    const value = encodeNumber(spread, offered, Date.now());
    numberOf.set(value, offered);
    publisher.offer(TOPICS.probe, `${spread.producer}-${offered % spread.nodes}`, value);
  }
  if (offered < records) return;
  clearInterval(ticking);
  void finish();
}, TICK_MS);
const reporting = setInterval(report, REPORT_MS);

function report(done = false): void {
  const line: ProducerLine = { offered, acknowledged, dropped: droppedCount, failures, done };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

async function finish(): Promise<void> {
  await publisher.flush();
  await publisher.close();
  clearInterval(reporting);
  ledger.close();
  report(true);
  await bus.close();
}

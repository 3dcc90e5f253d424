// Each poisoned record is counted, and kept or bounded. The good source loses nothing.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Bus, BusRecord, Subscription } from "@isochrone/bus";
import { createKafkaBus } from "@isochrone/bus/kafka";
import { pause, systemClock, systemRandom } from "@isochrone/runtime";
import { encodeHeaders, HEADERS, STATE_TOPICS, TOPICS } from "@isochrone/telemetry";
import type { WorkflowGraphSnapshot } from "@isochrone/topology";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { AggregatorProcess } from "../harness/delivery/aggregator-process.ts";
import { aggregatorEnvironment } from "../harness/delivery/environment.ts";
import { loopbackTestbed } from "../harness/delivery/testbed.ts";
import { kafkaSupport, startKafka, type KafkaCluster } from "../harness/kafka/index.ts";
import { ReapedFolder } from "../harness/common/reaped-folder.ts";
import { GoodSource, KEYS, REQUESTS_PER_SECOND } from "../harness/poison/good-source.ts";
import { BOMB, bombRecords, POISONS, reasonOf } from "../harness/poison/poisons.ts";
import { tunedEnvironment } from "../harness/components/tuned.ts";

const READY_MS = 60_000;
const KEPT_BYTES = 65_536;
/** Limit for all sources together. */
const MAX_SERIES = 250_000;
/** Exceeds the 100,000 series that one source may have, with the good source's. */
const BOMB_SERIES = 101_000;
/** Limit of growth with all poisons. Earlier memory use varies. */
const RESIDENT_BYTES = 640 * 1024 * 1024;
/** Its records have the good source's keys, and so share its partitions. */
const EVIL = "probe/evil";

const support = kafkaSupport();
if (!support.supported) console.warn(`bad records over Kafka skipped: ${support.reason}`);

describe.runIf(support.supported)("poisoned records on the partitions of a good source", () => {
  let folder: string;
  let processes: ReapedFolder;
  let kafka: KafkaCluster;
  let aggregator: AggregatorProcess;
  let bus: Bus;
  let inputs: Subscription;
  let good: GoodSource;
  let sequence = 0;
  /** Poisoned records on the topics, by position. */
  const onTopics = new Map<string, { readonly record: BusRecord; readonly name: string }>();
  const deadLetters: BusRecord[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "isochrone-bad-records-"));
    processes = new ReapedFolder("isochrone-bad-records-processes");
    kafka = await startKafka({ brokers: 1 });
    aggregator = new AggregatorProcess({
      name: "aggregator",
      seat: await loopbackTestbed().seat("aggregator"),
      logPath: join(folder, "aggregator.log"),
      env: {
        ...processes.environment,
        ...aggregatorEnvironment(kafka.brokers, "platformatic"),
        ...tunedEnvironment({ aggregator: { maxSeries: MAX_SERIES } }),
      },
    });
    aggregator.start();
    await aggregator.ready(READY_MS);
    bus = createKafkaBus({
      client: "platformatic",
      brokers: kafka.brokers,
      clientId: "bad-records-test",
      clock: systemClock,
      random: systemRandom,
    });
    inputs = await bus.subscribe({
      topics: [TOPICS.probe, TOPICS.usage, TOPICS.traffic],
      from: "earliest",
      onBatch: async ({ records }) => {
        for (const record of records) {
          const name = record.headers["poison"];
          if (name !== undefined) onTopics.set(positionOf(record), { record: copyOf(record), name });
        }
      },
    });
    await bus.subscribe({
      topics: [STATE_TOPICS.deadLetter],
      from: "earliest",
      onBatch: async ({ records }) => void deadLetters.push(...records.map(copyOf)),
    });
    good = new GoodSource(bus);
  }, 90_000);

  afterAll(async () => {
    await good?.stop();
    await bus?.close();
    await aggregator?.kill();
    await processes?.remove();
    await kafka?.close();
    rmSync(folder, { recursive: true, force: true });
  }, 60_000);

  async function publishEvil(
    topic: string,
    key: string,
    value: Uint8Array,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    const identity = encodeHeaders({ source: EVIL, epoch: "e1", sequence, sentAtMs: Date.now() });
    await bus.publish(topic, [{ key, value, headers: { ...identity, ...headers } }]);
    if (headers[HEADERS.sequence] === undefined) sequence++;
  }

  it("are refused, counted by their reason, and kept with reason, position and beginning", async () => {
    const topics = [TOPICS.probe, TOPICS.usage, TOPICS.traffic];
    let published = 0;
    for (const [i, { name, value, headers }] of POISONS.entries()) {
      for (const [j, topic] of topics.entries())
        await publishEvil(topic, KEYS[(i + j) % KEYS.length]!, value(), { poison: name, ...headers });
      // Dead letters are rate-limited, so too many at once would lose some.
      published += topics.length;
      await vi.waitFor(
        () => expect([name, onTopics.size, deadLetters.length]).toEqual([name, published, published]),
        { timeout: 8000, interval: 50 },
      );
    }
    for (const letter of deadLetters) {
      const position = ["topic", "partition", "offset"].map((part) => letter.headers[`isochrone-${part}`]);
      const { record, name } = onTopics.get(position.join(" "))!;
      expect([name, letter.headers["isochrone-reason"]]).toEqual([name, reasonOf(name)]);
      expect(letter.headers["isochrone-size"]).toBe(String(record.value.byteLength));
      expect(letter.key).toBe(record.key);
      expect(Buffer.compare(letter.value, record.value.subarray(0, KEPT_BYTES))).toBe(0);
    }
    expect(
      new Set(
        deadLetters.map(
          ({ headers }) =>
            headers["isochrone-offset"] + headers["isochrone-partition"]! + headers["isochrone-topic"],
        ),
      ).size,
    ).toBe(published);
    const refused = await refusedByReason(aggregator);
    const expected = Map.groupBy(POISONS, ({ reason }) => reason);
    for (const [reason, poisons] of expected)
      expect([reason, refused.get(reason)]).toEqual([reason, poisons.length * topics.length]);
  }, 30_000);

  it("may be far too large for the bus, which says so at once", async () => {
    const publishing = bus.publish(TOPICS.usage, [
      { key: KEYS[0]!, value: new Uint8Array(100_000_000), headers: {} },
    ]);
    await expect(publishing).rejects.toMatchObject({ code: "too_large", retryable: false });
  });

  it("a million labels from one source stay within what a source may bring, and within memory", async () => {
    await inputs.close();
    const before = residentBytes(aggregator.pid!);
    const record = bombRecords();
    for (let from = 0; from < BOMB.labels; from += BOMB.pointsPerRecord)
      await publishEvil(TOPICS.traffic, KEYS[0]!, record(from));
    await vi.waitFor(
      async () =>
        expect((await refusedByReason(aggregator)).get("too_many_series")).toBeGreaterThan(
          BOMB.labels - BOMB_SERIES,
        ),
      { timeout: 30_000, interval: 250 },
    );
    const after = residentBytes(aggregator.pid!);
    const series = Number(/^isochrone_aggregator_series (\d+)/m.exec(await aggregator.metrics())?.[1]);
    console.log(`resident: ${mebibytes(before)} MiB before, ${mebibytes(after)} MiB after; ${series} series`);
    expect(series).toBeLessThan(BOMB_SERIES);
    expect(after).toBeLessThan(RESIDENT_BYTES);
  }, 60_000);

  it("have cost the good source no record, no series and no partition", async () => {
    await pause(systemClock, 2000, AbortSignal.timeout(60_000));
    await good.stop();
    expect(good.dropped).toBe(0);
    await vi.waitFor(
      async () => {
        const { links } = await aggregator.clusterGraph();
        const counted = links.map(
          ({ source, target, rttMs }) => [`${source} ${target}`, rttMs.count] as const,
        );
        expect(new Map(counted.toSorted(byName))).toEqual(new Map([...good.links].toSorted(byName)));
      },
      { timeout: 15_000, interval: 500 },
    );
    const metrics = await aggregator.metrics();
    const lags = [...metrics.matchAll(/^isochrone_consumer_lag_records\{.*\} (\d+)/gm)].map(([, lag]) =>
      Number(lag),
    );
    expect(lags.length).toBeGreaterThan(0);
    expect(lags.filter((lag) => lag !== 0)).toEqual([]);
    expect(metrics).toMatch(/^isochrone_records_missing_total 0$/m);
    const graph = JSON.parse(
      await aggregator.task.seat.get("/api/v1/graph/workflows/shop/shop", 5000),
    ) as WorkflowGraphSnapshot;
    const rates = graph.channels
      .filter(({ target }) => target === "db")
      .map(({ requestsPerSecond }) => requestsPerSecond!);
    expect(rates).toHaveLength(KEYS.length);
    // A counter that was evicted meanwhile would have lost at least one of its few intervals.
    for (const rate of rates) expect(Math.abs(rate / REQUESTS_PER_SECOND - 1)).toBeLessThan(0.01);
  }, 60_000);
});

function byName([a]: readonly [string, number], [b]: readonly [string, number]): number {
  return a < b ? -1 : 1;
}

function positionOf({ topic, partition, offset }: BusRecord): string {
  return `${topic} ${partition} ${offset}`;
}

function copyOf(record: BusRecord): BusRecord {
  return { ...record, value: record.value.slice() };
}

async function refusedByReason(aggregator: AggregatorProcess): Promise<ReadonlyMap<string, number>> {
  const lines = (await aggregator.metrics()).matchAll(
    /^isochrone_aggregator_refused_total\{reason="(\w+)"\} (\d+)/gm,
  );
  return new Map(Array.from(lines, ([, reason, count]) => [reason!, Number(count)]));
}

function residentBytes(pid: number): number {
  const [, kibibytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))!;
  return Number(kibibytes) * 1024;
}

function mebibytes(bytes: number): number {
  return Math.round(bytes / 1024 / 1024);
}

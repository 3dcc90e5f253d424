// Forged records on the topics of probes and replicas, as Kafka ACLs may permit.
import type { BusRecord, OutgoingRecord } from "@isochrone/bus";
import { SPEAKER_HEADER, sealedBus, type RecordKey } from "@isochrone/bus/seal";
import { createRegistry } from "@isochrone/runtime";
import { MAC_HEADER, partitionOf, sealRecord } from "@isochrone/bus/testing";
import { STATE_TOPICS, TOPICS } from "@isochrone/telemetry";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { MemoryKeyStore } from "../testing/memory-key-store.ts";
import { SpeakerPolicy } from "../domain/speakers/policy.ts";
import type { RecordProofs } from "./record-proofs.ts";
import { probeMetrics, recordOf } from "../testing/records.ts";
import { ReplicaSet, SHAPE, type Replica } from "../testing/replicas.ts";
import { createUnprovenCounter } from "./metrics.ts";
import { RecordKeys } from "./record-keys.ts";
import { RecordSeals } from "./record-seals.ts";

const PARTITIONS = 3;
const FOREIGN = "otel.shop.v1";

let set: ReplicaSet;
let keys: RecordKeys;
let proofs: RecordProofs;
let refused: () => Promise<Record<string, number>>;
let tapped: BusRecord[];

beforeEach(async () => {
  set = new ReplicaSet();
  keys = recordKeys();
  await keys.start();
  proofs = proofsOf(keys);
  tapped = [];
  await set.bus.subscribe({
    topics: [...Object.values(TOPICS), STATE_TOPICS.graph],
    from: "earliest",
    onBatch: async ({ records }) => void tapped.push(...records),
  });
});

afterEach(async () => {
  await set.close();
  await keys.stop();
});

function recordKeys(store = new MemoryKeyStore(), isLeader = true): RecordKeys {
  return new RecordKeys({
    store,
    leadership: { isLeader: () => isLeader },
    clock: set.clock,
    logger: set.logger,
    randomBytes: (count) => Buffer.alloc(count, 5),
    rotationMs: 0,
    overlapMs: 60_000,
    checkMs: 5_000,
  });
}

function proofsOf(known: RecordKeys): RecordProofs {
  const registry = createRegistry();
  const unproven = createUnprovenCounter(registry);
  const foreignTopics = new Map([[FOREIGN, "otel"]]);
  const seals = new RecordSeals({ keys: known, foreignTopics, logger: set.logger, unproven });
  refused = async () => {
    const { values } = await unproven.get();
    return Object.fromEntries(values.map(({ labels, value }) => [`${labels.topic} ${labels.fault}`, value]));
  };
  return {
    known: (signal) => known.known(signal),
    pending: () => known.pending(),
    foreignTopics: [FOREIGN],
    speakersOf: (place) => seals.speakersOf(place),
    isOwn: (record) => seals.isOwn(record),
  };
}

const SPEAKING = {
  policy: new SpeakerPolicy([
    { account: "none", name: "otel", nodes: new Set(["c"]), namespaces: new Set() },
  ]),
};

async function start(): Promise<Replica> {
  const replica = await set.start({ proofs, speaking: SPEAKING, bus: sealedBus(set.bus, keys.sealingKey) });
  await set.pass(500);
  return replica;
}

const keyOf = (node: string): RecordKey => keys.keyFor({ kind: "node", node });

function probeRecord(node: string, sequence: number, sent: number): OutgoingRecord {
  const nowMs = set.clock.now();
  const metrics = probeMetrics([
    { target: "x", timeMs: nowMs, rttsMs: [50], outcomes: { sent, received: 1 } },
  ]);
  const { key, value, headers } = recordOf(node, metrics, {
    source: `probe/${node}`,
    sequence,
    arrivedAtMs: nowMs,
  });
  return { key, value, headers };
}

async function honest(node: string, sequence: number): Promise<void> {
  await sealedBus(set.bus, () => keyOf(node)).publish(TOPICS.probe, [probeRecord(node, sequence, 1)]);
  await set.pass(1000);
}

function packets(replica: Replica): Record<string, number> {
  const links = replica.tables.links.sorted();
  return Object.fromEntries(
    links.map((link) => [link.key.source, link.read(set.clock.now(), SHAPE.panes)?.sent ?? 0]),
  );
}

const seal = (key: RecordKey, topic: string, record: OutgoingRecord): OutgoingRecord =>
  sealRecord(key, { topic, partition: partitionOf(record.key, PARTITIONS) }, record);

const bare = ({ key, value, headers }: OutgoingRecord): OutgoingRecord => ({ key, value, headers });

describe("a record of an input topic", () => {
  let replica: Replica;
  let sealed: OutgoingRecord;

  beforeEach(async () => {
    replica = await start();
    await honest("a", 0);
    await honest("b", 0);
    sealed = bare(tapped.find(({ topic, key }) => topic === TOPICS.probe && key === "a")!);
  });

  const withHeaders = (record: OutgoingRecord, headers: Record<string, string>): OutgoingRecord => ({
    ...record,
    headers: { ...record.headers, ...headers },
  });

  test.each<[string, string, () => OutgoingRecord, string | null]>([
    ["that nobody sealed", TOPICS.probe, () => probeRecord("a", 1, 1000), "unsealed"],
    [
      "with another node's name as its speaker, by one's own key",
      TOPICS.probe,
      () => seal({ ...keyOf("b"), speaker: "node/a" }, TOPICS.probe, probeRecord("a", 1, 1000)),
      "forged",
    ],
    [
      "replayed with another value",
      TOPICS.probe,
      () => ({ ...sealed, value: probeRecord("a", 1, 1000).value }),
      "forged",
    ],
    [
      "replayed with another sequence",
      TOPICS.probe,
      () => withHeaders(sealed, { "isochrone-sequence": "1" }),
      "forged",
    ],
    ["replayed whole", TOPICS.probe, () => sealed, null],
    ["replayed on another topic", TOPICS.usage, () => sealed, "forged"],
    ["replayed into another partition", TOPICS.probe, () => ({ ...sealed, key: otherKey() }), "forged"],
    [
      "whose MAC was stripped",
      TOPICS.probe,
      () => ({
        ...sealed,
        headers: Object.fromEntries(Object.entries(sealed.headers).filter(([name]) => name !== MAC_HEADER)),
      }),
      "unsealed",
    ],
    [
      "by a key that there is none of",
      TOPICS.probe,
      () => seal({ ...keyOf("a"), keyId: 9 }, TOPICS.probe, probeRecord("a", 1, 1000)),
      "unknown_key",
    ],
    [
      "by the replicas' own key",
      TOPICS.probe,
      () =>
        seal(keys.keyFor({ kind: "service", name: "aggregator" }), TOPICS.probe, probeRecord("a", 1, 1000)),
      "wrong_speaker",
    ],
  ])("%s changes nothing", async (_, topic, forge, fault) => {
    expect(packets(replica)).toEqual({ a: 1, b: 1 });
    await set.bus.publish(topic, [forge()]);
    await set.pass(2000);
    expect(packets(replica)).toEqual({ a: 1, b: 1 });
    expect(await refused()).toEqual(fault === null ? {} : { [`${topic} ${fault}`]: 1 });
    expect(replica.intake.counts.refused.unproven).toBe(fault === null ? 0 : 1);
    // The probe continues; the forger has not used its next sequence.
    await honest("a", 1);
    expect(packets(replica)).toEqual({ a: 2, b: 1 });
  });

  test("that nobody sealed is kept among the dead letters, and said once with what to do", async () => {
    const letters: BusRecord[] = [];
    await set.bus.subscribe({
      topics: [STATE_TOPICS.deadLetter],
      from: "earliest",
      onBatch: async ({ records }) => void letters.push(...records),
    });
    for (let i = 0; i < 3; i++) await set.bus.publish(TOPICS.probe, [probeRecord(`n${i}`, 1, 1)]);
    await set.pass(2000);
    expect(letters.map(({ headers }) => headers["isochrone-reason"])).toEqual([
      "unproven",
      "unproven",
      "unproven",
    ]);
    const told = set.logger.lines.filter(({ event }) => event.includes("its sender is not proven"));
    expect(told.map(({ fields }) => fields["fault"])).toEqual(["unsealed"]);
    expect(told[0]!.fields["remedy"]).toContain("bus.sealRecords");
  });

  test("by a foreign writer counts on the topic that is its own, and nowhere else", async () => {
    const { key, value } = probeRecord("c", 0, 7);
    await set.bus.publish(TOPICS.probe, [{ key, value, headers: {} }]);
    await set.pass(2000);
    expect(packets(replica)).toEqual({ a: 1, b: 1 });
    await set.bus.publish(FOREIGN, [{ key, value, headers: {} }]);
    await set.pass(2000);
    expect(packets(replica)).toEqual({ a: 1, b: 1, c: 7 });
  });

  /** A key in another partition than the node a's. */
  function otherKey(): string {
    return ["b", "c", "d", "e"].find((key) => partitionOf(key, PARTITIONS) !== partitionOf("a", PARTITIONS))!;
  }
});

describe("a record of the replicas' own topic", () => {
  test("a last bandwidth that a stranger writes enters no graph", async () => {
    const replica = await start();
    const bursts = [{ transport: "tcp", eventMs: set.clock.now(), bitsPerSecond: 1e9 }];
    const value = Buffer.from(JSON.stringify({ bursts }));
    for (const record of [
      { key: "a/x", value, headers: {} },
      seal(keyOf("a"), STATE_TOPICS.graph, { key: "a/x", value, headers: {} }),
    ])
      await set.bus.publish(STATE_TOPICS.graph, [record]);
    await set.pass(2000);
    expect(replica.tables.bandwidth.get("a", "x")).toBeNull();
    expect(await refused()).toEqual({
      [`${STATE_TOPICS.graph} unsealed`]: 1,
      [`${STATE_TOPICS.graph} wrong_speaker`]: 1,
    });
  });
});

test("a replica that hasn't read the keys waits, and loses nothing of what came meanwhile", async () => {
  const store = new MemoryKeyStore();
  const slow = recordKeys(store, false);
  await slow.start();
  const replica = await set.start({ proofs: proofsOf(slow), bus: sealedBus(set.bus, slow.sealingKey) });
  await honest("a", 0);
  expect(replica.intake.pending()).toEqual(["waiting for the keys of records"]);
  expect(packets(replica)).toEqual({});
  // The leader writes the same keys.
  const leader = recordKeys(store);
  await leader.start();
  await set.pass(10_000);
  expect(replica.intake.pending()).toEqual([]);
  expect(packets(replica)).toEqual({ a: 1 });
  expect(await refused()).toEqual({});
  await Promise.all([slow.stop(), leader.stop()]);
});

test("what the ingest posts for a speaker is sealed for that speaker, and nothing in the replicas' name", async () => {
  const replica = await start();
  const bus = sealedBus(set.bus, keys.sealingKey);
  const posted = (record: OutgoingRecord, speaker: string): OutgoingRecord => ({
    ...record,
    headers: { ...record.headers, [SPEAKER_HEADER]: speaker },
  });
  await bus.publish(TOPICS.probe, [
    posted(probeRecord("a", 0, 1), "node/a"),
    posted(probeRecord("b", 0, 1), "service/aggregator"),
    probeRecord("c", 0, 1),
  ]);
  await set.pass(2000);
  expect(packets(replica)).toEqual({ a: 1 });
  expect(await refused()).toEqual({ [`${TOPICS.probe} unsealed`]: 2 });
});

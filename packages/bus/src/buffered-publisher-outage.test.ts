import { seededRandom } from "@isochrone/runtime";
import { startTracing, TRACEPARENT_HEADER, withSpan } from "@isochrone/runtime/tracing";
import { ManualClock } from "@isochrone/runtime/testing";
import { decodeHeaders } from "@isochrone/telemetry";
import { beforeEach, describe, expect, it } from "vitest";

import { BufferedPublisher } from "./buffered-publisher.ts";
import type { BufferedPublisherOptions } from "./buffered-publisher.ts";
import { BusError } from "./ports/errors.ts";
import { DROPPED_HEADER } from "./ports/port.ts";
import type { OutgoingRecord, Publisher } from "./ports/port.ts";
import { ScriptedBus } from "./testing/scripted-bus.ts";

const AWAY = new BusError("unavailable", "away");
const VALUE = new Uint8Array(100);

let clock: ManualClock;
let bus: ScriptedBus;
let drops: Record<string, number>;

beforeEach(() => {
  clock = new ManualClock();
  bus = new ScriptedBus();
  drops = {};
});

function create(options: Partial<BufferedPublisherOptions> = {}): BufferedPublisher {
  return new BufferedPublisher({
    publisher: bus,
    source: "probe/node-a",
    epoch: "e1",
    clock,
    random: { next: () => 0 },
    backoff: { initialMs: 200, maxMs: 10_000, factor: 2, jitterRatio: 0 },
    onDropped: (reason, count) => (drops[reason] = (drops[reason] ?? 0) + count),
    ...options,
  });
}

/** One record a second. */
async function live(publisher: BufferedPublisher, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    publisher.offer("t", "node-a", VALUE);
    await clock.advance(1_000);
  }
}

const sequences = (): number[] => bus.identities().map(({ sequence }) => sequence);
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const lastDroppedHeader = (): string | undefined => bus.taken.at(-1)?.record.headers[DROPPED_HEADER];

describe("a buffered publisher through an outage", () => {
  it("begins without a bus, and loses nothing of four minutes", async () => {
    bus.failure = AWAY;
    const publisher = create();
    await live(publisher, 240);
    expect([publisher.pending, publisher.pendingBytes]).toEqual([240, 240 * 300]);
    expect(publisher.oldestAgeMs).toBe(240_000);
    bus.failure = null;
    await live(publisher, 40);
    expect(sequences()).toEqual(upTo(280));
    expect([drops, publisher.pending, publisher.oldestAgeMs]).toEqual([{}, 0, 0]);
    expect(publisher.counts).toEqual({ offered: 280, sent: 280, dropped: 0, pending: 0 });
  });

  it("the backlog shrinks at the rate, beside as many records as come", async () => {
    const publisher = create({ catchUpRecordsPerSecond: 5 });
    await live(publisher, 3);
    bus.failure = AWAY;
    await live(publisher, 240);
    bus.failure = null;
    // At most 10 s pause until the next attempt.
    for (let waited = 0; bus.taken.length === 3 && waited < 11; waited++) await live(publisher, 1);
    expect(publisher.isCatchingUp).toBe(true);
    const pending = publisher.pending;
    expect(pending).toBeGreaterThan(235);
    let seconds = 0;
    for (; publisher.isCatchingUp && seconds < 200; seconds++) {
      const before = bus.taken.length;
      await live(publisher, 1);
      // A step of 200 ms may fall on either side of the second's end.
      expect(bus.taken.length - before).toBeGreaterThanOrEqual(4);
      expect(bus.taken.length - before).toBeLessThanOrEqual(8);
    }
    expect(Math.abs(seconds - pending / 5)).toBeLessThanOrEqual(2);
    await live(publisher, 3);
    expect(sequences()).toEqual(upTo(publisher.counts.offered));
  });

  it("bytes are bounded too, and a record larger than a step still goes", async () => {
    const publisher = create({ catchUpRecordsPerSecond: 1_000, catchUpBytesPerSecond: 50_000 });
    bus.failure = AWAY;
    for (let index = 0; index < 11; index++) {
      publisher.offer("t", "a", new Uint8Array(99_800));
      await clock.advance(1_000);
    }
    bus.failure = null;
    for (let waited = 0; bus.taken.length === 0 && waited < 11; waited++) await clock.advance(1_000);
    const first = bus.taken.length;
    await clock.advance(10_000);
    // 1 MB remains after the first record, at 50 kB/s: five records in 10 s, and one more that overdraws the
    // credit.
    expect(bus.taken.length - first).toBeGreaterThanOrEqual(5);
    expect(bus.taken.length - first).toBeLessThanOrEqual(6);
    await clock.advance(11_000);
    expect(sequences()).toEqual(upTo(11));
  });

  it("what waited too long is dropped, oldest first, when it is time, and reported as a gap", async () => {
    bus.failure = AWAY;
    const publisher = create({ maxAgeMs: 60_000 });
    await live(publisher, 600);
    // The first batch was in flight and may have arrived.
    expect(drops).toEqual({ expired: 540 });
    expect(publisher.counts).toEqual({ offered: 600, sent: 0, dropped: 540, pending: 60 });
    bus.failure = null;
    await live(publisher, 30);
    const arrived = sequences();
    expect(arrived[0]).toBe(0);
    expect(arrived.slice(1)).toEqual(upTo(630).slice(630 - arrived.length + 1));
    expect(lastDroppedHeader()).toBe(String(630 - arrived.length));
    expect(publisher.counts).toMatchObject({ offered: 630, pending: 0 });
  });

  it("expires during a long pause that the bus asked for, and after a last record", async () => {
    bus.failure = new BusError("overloaded", "later", { retryAfterMs: 300_000 });
    const publisher = create({ maxAgeMs: 10_000 });
    publisher.offer("t", "a", VALUE);
    await clock.advance(1);
    publisher.offer("t", "a", VALUE);
    await clock.advance(9_998);
    expect(drops).toEqual({});
    await clock.advance(1_002);
    expect(drops).toEqual({ expired: 1 });
    await publisher.close(0);
    expect(drops).toEqual({ expired: 1, closed: 1 });
  });

  it("what is too old makes room before what is new has none", async () => {
    bus.failure = AWAY;
    const publisher = create({ maxAgeMs: 5_000, maxRecords: 4 });
    publisher.offer("t", "a", VALUE);
    await clock.advance(100);
    for (let index = 0; index < 3; index++) publisher.offer("t", "a", VALUE);
    await clock.advance(4_999);
    publisher.offer("t", "a", VALUE);
    expect(drops).toEqual({ full: 1 });
    await clock.advance(1);
    for (let index = 0; index < 2; index++) publisher.offer("t", "a", VALUE);
    expect(drops).toEqual({ full: 1, expired: 2 });
    expect(publisher.pending).toBe(4);
    await publisher.close(0);
  });

  it("a publish that the bus' own client stalled is an outage too", async () => {
    const stalled = Promise.withResolvers<void>();
    const publish = bus.publish.bind(bus);
    let isStalled = true;
    bus.publish = async (topic, records) => {
      if (isStalled) await stalled.promise;
      await publish(topic, records);
    };
    const publisher = create({ catchUpRecordsPerSecond: 5 });
    await live(publisher, 60);
    isStalled = false;
    stalled.resolve();
    await clock.advance(2_000);
    expect(publisher.isCatchingUp).toBe(true);
    expect(bus.taken.length).toBeLessThan(15);
    await clock.advance(15_000);
    expect(sequences()).toEqual(upTo(60));
    expect(publisher.isCatchingUp).toBe(false);
  });

  it("a short outage is spread over no longer than it lasted", async () => {
    const publisher = create({ random: { next: () => 0.999 }, catchUpSpreadMs: 60_000 });
    await live(publisher, 3);
    bus.failure = AWAY;
    await live(publisher, 4);
    bus.failure = null;
    await live(publisher, 10);
    expect(publisher.pending).toBe(0);
    expect(sequences()).toEqual(upTo(17));
  });

  it("a burst without an outage goes as fast as the bus takes it", async () => {
    const publisher = create({ catchUpRecordsPerSecond: 1 });
    for (let index = 0; index < 5_000; index++) publisher.offer("t", "a", VALUE);
    await publisher.flush();
    expect(bus.taken.length).toBe(5_000);
  });

  it("a bus that keeps failing now and then holds a backlog up no more than its rate does", async () => {
    const publisher = create({ catchUpRecordsPerSecond: 20 });
    bus.failure = AWAY;
    await live(publisher, 100);
    const publish = bus.publish.bind(bus);
    bus.failure = null;
    bus.publish = async (topic, records) => {
      bus.failure = bus.calls % 2 === 0 ? AWAY : null;
      await publish(topic, records);
    };
    await live(publisher, 40);
    expect(publisher.pending).toBeLessThan(3);
    expect(sequences()).toEqual(upTo(bus.taken.length));
  });

  it("close keeps nothing back", async () => {
    const publisher = create({ catchUpRecordsPerSecond: 1 });
    bus.failure = AWAY;
    await live(publisher, 100);
    bus.failure = null;
    await clock.advance(12_000);
    expect(publisher.isCatchingUp).toBe(true);
    await publisher.close(1_000);
    expect(sequences()).toEqual(upTo(100));
    expect(publisher.counts).toEqual({ offered: 100, sent: 100, dropped: 0, pending: 0 });
    expect(clock.pending).toBe(0);
  });

  it("hundreds that see one bus come back do not storm it", async () => {
    const random = seededRandom(7);
    bus.failure = AWAY;
    const publishers = upTo(200).map((index) => {
      const options = {
        source: `probe/n${index}`,
        random,
        catchUpRecordsPerSecond: 2,
        catchUpSpreadMs: 20_000,
      };
      return create({ ...options, backoff: { initialMs: 200, maxMs: 10_000, factor: 2, jitterRatio: 0.5 } });
    });
    const offerAll = (): void => publishers.forEach((publisher) => publisher.offer("t", "a", VALUE));
    for (let round = 0; round < 18; round++) {
      offerAll();
      await clock.advance(10_000);
    }
    bus.failure = null;
    const perSecond: number[] = [];
    for (let second = 0; publishers.some(({ pending }) => pending > 0); second++) {
      const before = bus.taken.length;
      if (second % 10 === 0) offerAll();
      await clock.advance(1_000);
      perSecond.push(bus.taken.length - before);
    }
    expect(bus.taken.length).toBe(publishers.reduce((sum, { counts }) => sum + counts.offered, 0));
    // 3,600 records waited. Without spread, the peak is 3,600; with both rates it is 400 + 20 live.
    expect(Math.max(...perSecond)).toBeLessThan(450);
    expect(perSecond.length).toBeLessThan(60);
  });
});

describe("traces of records", () => {
  it("without tracing there is no header", async () => {
    const publisher = create();
    await withSpan("scrape", {}, () => publisher.offer("t", "a", VALUE));
    await publisher.flush();
    expect(bus.taken[0]?.record.headers).not.toHaveProperty(TRACEPARENT_HEADER);
  });

  it("each record carries a span of the trace that it was offered in, the same at every attempt", async () => {
    const tracing = await startTracing({
      serviceName: "test",
      endpoint: "http://127.0.0.1:1",
      flushDeadlineMs: 50,
    });
    const seen: (string | undefined)[] = [];
    const publish = bus.publish.bind(bus);
    bus.publish = async (topic, records) => {
      seen.push(...records.map(({ headers }) => headers[TRACEPARENT_HEADER]));
      await publish(topic, records);
    };
    bus.failure = AWAY;
    const publisher = create();
    const traceId = await withSpan("scrape", {}, (span) => {
      publisher.offer("t", "a", VALUE);
      publisher.offer("t", "a", VALUE);
      return span.spanContext().traceId;
    });
    await clock.advance(100);
    bus.failure = null;
    await clock.advance(1_000);
    await publisher.flush();
    expect(seen.length).toBe(4);
    expect(seen.slice(2)).toEqual(seen.slice(0, 2));
    expect(new Set(seen).size).toBe(2);
    expect(seen.every((header) => header?.startsWith(`00-${traceId}-`))).toBe(true);
    await tracing.stop().catch(() => undefined);
  });
});

/** A bus that refuses, stalls, fails before or after storing the records, and always refuses "bad" ones. */
class FaultyBus implements Publisher {
  readonly arrived: OutgoingRecord[] = [];
  isFaulty = true;
  readonly #clock: ManualClock;
  readonly #draw: () => number;
  readonly #check: () => void;

  constructor(clock: ManualClock, draw: () => number, check: () => void) {
    this.#clock = clock;
    this.#draw = draw;
    this.#check = check;
  }

  async publish(_topic: string, records: readonly OutgoingRecord[]): Promise<void> {
    this.#check();
    const draw = this.isFaulty ? this.#draw() : 1;
    if (draw < 0.1) await this.#clock.sleep(8_000 * this.#draw());
    if (records.some(({ value }) => value[0] === 1)) throw new BusError("rejected", "bad");
    if (draw < 0.3) throw AWAY;
    this.arrived.push(...records);
    if (draw < 0.4) throw new BusError("timeout", "it may have arrived");
  }
}

it.each(upTo(16))("nothing is lost without a word, whatever happens (seed %i)", async (seed) => {
  const random = seededRandom(seed + 1);
  const draw = (): number => random.next();
  let reported = 0;
  const check = (): void => {
    const { offered, sent, dropped, pending } = publisher.counts;
    expect(offered).toBe(sent + dropped + pending);
    expect(dropped).toBe(reported);
    expect(pending).toBe(publisher.pending);
  };
  const faulty = new FaultyBus(clock, draw, check);
  const publisher = create({
    publisher: faulty,
    random,
    maxRecords: 40,
    maxBytes: 20_000,
    maxAgeMs: 15_000,
    catchUpRecordsPerSecond: 10,
    catchUpSpreadMs: 1_000,
    onDropped: (_, count) => {
      reported += count;
      check();
    },
  });
  let offered = 0;
  for (let step = 0; step < 400; step++) {
    for (let count = draw() < 0.1 ? 60 * draw() : 2 * draw(); count > 0; count--) {
      const value = new Uint8Array(draw() < 0.01 ? 30_000 : 400 * draw());
      if (value.length > 0) value[0] = draw() < 0.02 ? 1 : 0;
      publisher.offer(draw() < 0.5 ? "t" : "u", draw() < 0.5 ? "a" : "b", value);
      offered += 1;
      check();
    }
    // Simulates outages of whole minutes.
    if (draw() < 0.01) {
      bus.failure = AWAY;
      await clock.advance(30_000);
    }
    await clock.advance(1_000 * draw());
    check();
  }
  faulty.isFaulty = false;
  await clock.advance(120_000);
  for (const key of ["a", "b"]) {
    for (const topic of ["t", "u"]) publisher.offer(topic, key, VALUE);
    offered += 2;
  }
  await publisher.flush();
  check();
  expect(publisher.counts).toMatchObject({ offered, pending: 0 });
  const streams = Map.groupBy(faulty.arrived, ({ headers }) => decodeHeaders(headers)!.source);
  let distinct = 0;
  for (const records of streams.values()) {
    const seen = [...new Set(records.map(({ headers }) => decodeHeaders(headers)!.sequence))];
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));
    // A reader that sees the last record knows of every missing one.
    expect(Number(records.at(-1)!.headers[DROPPED_HEADER] ?? 0)).toBe(seen.at(-1)! + 1 - seen.length);
    distinct += seen.length;
  }
  expect(distinct).toBe(publisher.counts.sent);
  expect(distinct + reported).toBe(offered);
});

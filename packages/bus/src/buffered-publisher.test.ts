import { ManualClock } from "@isochrone/runtime/testing";
import { beforeEach, describe, expect, it } from "vitest";

import { BufferedPublisher } from "./buffered-publisher.ts";
import type { BufferedPublisherOptions } from "./buffered-publisher.ts";
import { BusError } from "./ports/errors.ts";
import { DROPPED_HEADER } from "./ports/port.ts";
import { ScriptedBus } from "./testing/scripted-bus.ts";

describe("BufferedPublisher", () => {
  let clock: ManualClock;
  let bus: ScriptedBus;
  let drops: [string, number][];
  const create = (options: Partial<BufferedPublisherOptions> = {}): BufferedPublisher =>
    new BufferedPublisher({
      publisher: bus,
      source: "probe/node-a",
      epoch: "e1",
      clock,
      random: { next: () => 0 },
      backoff: { initialMs: 50, maxMs: 500, factor: 2, jitterRatio: 0 },
      onDropped: (reason, count) => drops.push([reason, count]),
      ...options,
    });
  const offer = (publisher: BufferedPublisher, ...texts: string[]): void => {
    for (const text of texts) publisher.offer("t", "node-a", Buffer.from(text));
  };
  const away = new BusError("unavailable", "away");

  beforeEach(() => {
    clock = new ManualClock();
    bus = new ScriptedBus();
    drops = [];
  });

  it("stamps source, epoch, an ascending sequence and the time of sending", async () => {
    const publisher = create();
    offer(publisher, "0", "1");
    await publisher.flush();
    const identity = { source: "probe/node-a", epoch: "e1", sentAtMs: clock.now() };
    expect(bus.identities()).toEqual([
      { ...identity, sequence: 0 },
      { ...identity, sequence: 1 },
    ]);
  });

  it("sends together what is offered together", async () => {
    const publisher = create();
    offer(publisher, "0", "1", "2");
    await publisher.flush();
    expect(bus.calls).toBe(1);
  });

  it("counts sequences per topic and key, under a source of their own each", async () => {
    const publisher = create();
    publisher.offer("t", "a", Buffer.from("0"));
    publisher.offer("u", "a", Buffer.from("1"));
    publisher.offer("t", "a", Buffer.from("2"));
    await publisher.flush();
    expect(bus.identities().map(({ source, sequence }) => `${source} ${sequence}`)).toEqual([
      "probe/node-a 0",
      "probe/node-a#2 0",
      "probe/node-a 1",
    ]);
    expect(bus.taken.map(({ topic }) => topic)).toEqual(["t", "u", "t"]);
  });

  it("keeps the order over an outage, and stamps the time of the send that worked", async () => {
    const publisher = create();
    bus.failure = away;
    offer(publisher, "0", "1");
    await clock.advance(10);
    offer(publisher, "2");
    bus.failure = null;
    await clock.advance(100);
    await publisher.flush();
    expect(bus.texts()).toEqual(["0", "1", "2"]);
    expect(new Set(bus.identities().map(({ sentAtMs }) => sentAtMs))).toEqual(new Set([clock.now() - 60]));
    expect(drops).toEqual([]);
  });

  it("pauses longer from attempt to attempt, up to the bound", async () => {
    const publisher = create();
    bus.failure = away;
    offer(publisher, "0");
    await clock.advance(0);
    const callsAfter = async (ms: number): Promise<number> => {
      await clock.advance(ms);
      return bus.calls;
    };
    for (const [i, ms] of [50, 100, 200, 400, 500, 500].entries()) {
      expect(await callsAfter(ms - 1)).toBe(i + 1);
      expect(await callsAfter(1)).toBe(i + 2);
    }
    await publisher.close(0);
  });

  it("honours a longer pause that the bus asks for", async () => {
    const publisher = create();
    bus.failure = new BusError("overloaded", "later", { retryAfterMs: 5_000 });
    offer(publisher, "0");
    await clock.advance(4_999);
    expect(bus.calls).toBe(1);
    bus.failure = null;
    await clock.advance(1);
    expect(bus.texts()).toEqual(["0"]);
  });

  it("drops the oldest when full by count, reports it once, and announces the gap", async () => {
    const publisher = create({ maxRecords: 3 });
    offer(publisher, "0", "1", "2", "3", "4");
    await publisher.flush();
    expect(bus.texts()).toEqual(["2", "3", "4"]);
    expect(drops.reduce((sum, [, count]) => sum + count, 0)).toBe(2);
    expect(bus.identities().map(({ sequence }) => sequence)).toEqual([2, 3, 4]);
    expect(bus.taken.map(({ record }) => record.headers[DROPPED_HEADER])).toEqual(["2", "2", "2"]);
  });

  it("drops the oldest when full by bytes", async () => {
    const publisher = create({ maxBytes: 1_000 });
    for (let i = 0; i < 5; i += 1) publisher.offer("t", "a", Buffer.alloc(200, String(i)));
    await publisher.flush();
    expect(bus.texts().map((text) => text[0])).toEqual(["3", "4"]);
  });

  it("does not drop what is under way, since it may have arrived", async () => {
    const publisher = create({ maxRecords: 2 });
    bus.failure = away;
    offer(publisher, "0");
    await clock.advance(0);
    offer(publisher, "1", "2", "3");
    bus.failure = null;
    await clock.advance(1_000);
    expect(bus.texts()).toEqual(["0", "3"]);
    expect(drops).toEqual([
      ["full", 1],
      ["full", 1],
    ]);
  });

  it("drops a record that is larger than the buffer, and only that", async () => {
    const publisher = create({ maxBytes: 1_000 });
    offer(publisher, "0", "x".repeat(2_000), "2");
    await publisher.flush();
    expect(bus.texts()).toEqual(["0", "2"]);
    expect(drops).toEqual([["too_large", 1]]);
  });

  it("gives up what the bus refuses for good, reports it, and goes on", async () => {
    const publisher = create();
    bus.failure = new BusError("rejected", "never");
    offer(publisher, "0", "1");
    await publisher.flush();
    bus.failure = null;
    offer(publisher, "2");
    await publisher.flush();
    expect(drops).toEqual([
      ["rejected", 1],
      ["rejected", 1],
    ]);
    expect(bus.texts()).toEqual(["2"]);
    expect(bus.taken[0]?.record.headers[DROPPED_HEADER]).toBe("2");
  });

  it("gives up only the record that the bus refuses, not the others of its batch", async () => {
    const publish = bus.publish.bind(bus);
    bus.publish = async (topic, records) => {
      const bad = records.some(({ value }) => Buffer.from(value).toString() === "bad");
      bus.failure = bad ? new BusError("too_large", "never") : null;
      await publish(topic, records);
    };
    const publisher = create();
    offer(publisher, "0", "1", "bad", "3");
    await publisher.flush();
    expect(bus.texts()).toEqual(["0", "1", "3"]);
    expect(drops).toEqual([["rejected", 1]]);
    offer(publisher, "4", "5");
    const before = bus.calls;
    await publisher.flush();
    expect(bus.calls - before).toBe(1);
  });

  it("flush waits for what was offered before, and ends with its signal", async () => {
    const publisher = create();
    bus.failure = away;
    offer(publisher, "0");
    const abort = new AbortController();
    const flushing = publisher.flush(abort.signal);
    abort.abort(new Error("enough"));
    await expect(flushing).rejects.toThrow("enough");
    await publisher.close(0);
  });

  it("close sends the rest within its deadline", async () => {
    const publisher = create();
    bus.failure = away;
    offer(publisher, "0");
    await clock.advance(0);
    const closing = publisher.close(1_000);
    bus.failure = null;
    await clock.advance(50);
    await closing;
    expect(bus.texts()).toEqual(["0"]);
    expect(drops).toEqual([]);
  });

  it("close gives up at its deadline even if the bus hangs, and reports what it gave up", async () => {
    const publisher = create();
    bus.hanging = true;
    offer(publisher, "0", "1");
    await clock.advance(0);
    const closing = publisher.close(1_000);
    await clock.advance(1_000);
    await closing;
    await publisher.close();
    expect(drops).toEqual([["closed", 2]]);
    expect(publisher.pending).toBe(0);
  });

  it("drops what is offered after close", async () => {
    const publisher = create();
    await publisher.close();
    offer(publisher, "0");
    expect(drops).toEqual([["closed", 1]]);
    expect(bus.calls).toBe(0);
  });

  it("draws another epoch for each life", async () => {
    let value = 0;
    const random = { next: () => (value += 0.1) };
    const { epoch: _, ...options } = { publisher: bus, source: "s", clock, random, epoch: "" };
    for (let life = 0; life < 2; life += 1) {
      const publisher = new BufferedPublisher(options);
      offer(publisher, "0");
      await publisher.flush();
    }
    expect(new Set(bus.identities().map(({ epoch }) => epoch)).size).toBe(2);
  });

  it("refuses a source that no header could carry, at once", () => {
    expect(() => create({ source: "two words" })).toThrow("isochrone-source");
  });
});

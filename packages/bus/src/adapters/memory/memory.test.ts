import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { createMemoryBus } from "./memory.ts";
import type { MemoryBus, MemoryBusOptions } from "./memory.ts";
import type { OutgoingRecord } from "../../ports/port.ts";

// Guarantees of the memory bus alone. test/contract covers those of every bus.

const TOPIC = "t";

function record(key: string, bytes = 1): OutgoingRecord {
  return { key, value: new Uint8Array(bytes), headers: {} };
}

describe("memory bus", () => {
  let clock: ManualClock;
  let logger: MemoryLogger;
  let bus: MemoryBus;
  let release: () => void;
  let held: () => Promise<void>;
  const open = (options: Partial<MemoryBusOptions> = {}): MemoryBus => {
    bus = createMemoryBus({ clock, logger, partitions: 1, ...options });
    return bus;
  };
  beforeEach(() => {
    clock = new ManualClock();
    logger = new MemoryLogger();
    const { promise, resolve } = Promise.withResolvers<void>();
    release = resolve;
    held = () => promise;
  });
  afterEach(() => {
    release();
    return bus.close();
  });

  it("keeps no more than the retention of what nobody subscribes to", async () => {
    open({ retentionRecords: 10 });
    for (let i = 0; i < 100; i += 1) await bus.publish(TOPIC, [record("a")]);
    expect(bus.inspect()).toMatchObject([{ startOffset: 90, endOffset: 100, backlogRecords: 0 }]);
  });

  it("bounds what nobody subscribes to by bytes as well", async () => {
    open({ retentionBytes: 10_000 });
    for (let i = 0; i < 100; i += 1) await bus.publish(TOPIC, [record("a", 1_000)]);
    expect(bus.inspect()[0]?.bytes).toBeLessThanOrEqual(10_000);
    expect(bus.inspect()[0]?.bytes).toBeGreaterThan(8_000);
  });

  it("never trims what a reader has not handled", async () => {
    open({ retentionRecords: 0, capacityRecords: 50 });
    const seen: number[] = [];
    const gate = Promise.withResolvers<void>();
    await bus.subscribe({
      topics: [TOPIC],
      from: "earliest",
      maxBatchRecords: 10,
      onBatch: async (batch) => {
        await gate.promise;
        seen.push(...batch.records.map(({ offset }) => offset));
      },
    });
    for (let i = 0; i < 50; i += 1) await bus.publish(TOPIC, [record("a")]);
    expect(bus.inspect()).toMatchObject([{ startOffset: 0, endOffset: 50, backlogRecords: 50 }]);
    gate.resolve();
    await vi.waitFor(() => expect(seen).toHaveLength(50));
    await vi.waitFor(() =>
      expect(bus.inspect()).toMatchObject([{ startOffset: 50, bytes: 0, backlogRecords: 0 }]),
    );
  });

  it("stays within its byte capacity under a slow handler", async () => {
    open({ capacityBytes: 100_000, publishTimeoutMs: 1_000 });
    await bus.subscribe({ topics: [TOPIC], from: "earliest", onBatch: held });
    const publishing = Promise.allSettled(
      Array.from({ length: 50 }, () => bus.publish(TOPIC, [record("a", 10_000)])),
    );
    await clock.advance(1_000);
    const results = await publishing;
    expect(bus.inspect()[0]?.bytes).toBeLessThanOrEqual(100_000);
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(9);
  });

  it("begins with the oldest record that is kept", async () => {
    open({ retentionRecords: 5 });
    for (let i = 0; i < 20; i += 1) await bus.publish(TOPIC, [record("a")]);
    const offsets: number[] = [];
    await bus.subscribe({
      topics: [TOPIC],
      from: "earliest",
      onBatch: async (batch) => void offsets.push(...batch.records.map(({ offset }) => offset)),
    });
    await vi.waitFor(() => expect(offsets).toEqual([15, 16, 17, 18, 19]));
  });

  it("lets waiting publishers in when the reader that held them leaves", async () => {
    open({ capacityRecords: 1 });
    const subscription = await bus.subscribe({
      topics: [TOPIC],
      from: "earliest",
      onBatch: held,
    });
    await bus.publish(TOPIC, [record("a")]);
    const waiting = bus.publish(TOPIC, [record("a")]);
    release();
    await subscription.close();
    await waiting;
    expect(bus.inspect()[0]?.endOffset).toBe(2);
  });

  it("rejects waiting publishers when it closes", async () => {
    open({ capacityRecords: 1 });
    await bus.subscribe({ topics: [TOPIC], from: "earliest", onBatch: held });
    await bus.publish(TOPIC, [record("a")]);
    const publishing = bus.publish(TOPIC, [record("a")]);
    const closing = bus.close();
    release();
    const [waiting] = await Promise.allSettled([publishing, closing]);
    expect(waiting).toMatchObject({ status: "rejected", reason: { code: "closed" } });
  });

  it("appends one publish to all its partitions or to none", async () => {
    open({ partitions: 4, capacityRecords: 2, publishTimeoutMs: 1_000 });
    await bus.subscribe({ topics: [TOPIC], from: "earliest", onBatch: held });
    await bus.publish(TOPIC, [record("node-1"), record("node-1")]);
    const before = bus.inspect().map(({ endOffset }) => endOffset);
    const keys = ["node-1", "node-2", "node-3", "node-4"];
    const publishing = bus.publish(
      TOPIC,
      keys.map((key) => record(key)),
    );
    const [waiting] = await Promise.allSettled([publishing, clock.advance(1_000)]);
    expect(waiting).toMatchObject({ status: "rejected", reason: { code: "overloaded" } });
    expect(bus.inspect().map(({ endOffset }) => endOffset)).toEqual(before);
  });

  it("refuses for good one publish that is larger than a partition may hold", async () => {
    open({ capacityRecords: 2 });
    const publishing = bus.publish(TOPIC, [record("a"), record("a"), record("a")]);
    await expect(publishing).rejects.toMatchObject({ code: "too_large", retryable: false });
  });

  it("bounds a batch by bytes, but delivers a larger record alone", async () => {
    open();
    const sizes: number[] = [];
    await bus.publish(TOPIC, [record("a", 600), record("a", 600), record("a", 5_000), record("a", 10)]);
    await bus.subscribe({
      topics: [TOPIC],
      from: "earliest",
      maxBatchBytes: 1_500,
      onBatch: async (batch) => void sizes.push(batch.records.length),
    });
    await vi.waitFor(() => expect(sizes).toEqual([2, 1, 1]));
  });

  it("stamps records with the clock's time of their appending", async () => {
    open();
    const times: number[] = [];
    await bus.subscribe({
      topics: [TOPIC],
      from: "earliest",
      onBatch: async (batch) => void times.push(...batch.records.map(({ appendedAtMs }) => appendedAtMs)),
    });
    const startMs = clock.now();
    await bus.publish(TOPIC, [record("a")]);
    await clock.advance(1_234);
    await bus.publish(TOPIC, [record("a")]);
    await vi.waitFor(() => expect(times).toEqual([startMs, startMs + 1_234]));
  });

  it.each([
    ["partitions", 0],
    ["capacityRecords", 1.5],
    ["publishTimeoutMs", -1],
  ])("refuses %s of %d, naming it", (name, value) => {
    open();
    expect(() => createMemoryBus({ clock, [name]: value })).toThrow(new RegExp(`${name} .* got ${value}`));
  });

  it("refuses a batch bound of 0, naming the topics", async () => {
    open();
    const subscribing = bus.subscribe({
      topics: [TOPIC],
      from: "latest",
      maxBatchRecords: 0,
      onBatch: async () => undefined,
    });
    await expect(subscribing).rejects.toThrow(
      "maxBatchRecords of a subscription to t must be a whole number of at least 1, got 0",
    );
  });
});

import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { createMemoryBus } from "./memory.ts";
import type { MemoryBus, MemoryBusOptions } from "./memory.ts";
import type { Batch, OutgoingRecord, TopicPartition } from "../../ports/port.ts";

// What every bus must do is tested in test/contract; here is what only the memory bus promises.

const TOPIC = "t";

function record(key: string, bytes = 1): OutgoingRecord {
  return { key, value: new Uint8Array(bytes), headers: {} };
}

describe("memory bus", () => {
  let clock: ManualClock;
  let logger: MemoryLogger;
  let bus: MemoryBus;
  const open = (options: Partial<MemoryBusOptions> = {}): MemoryBus => {
    bus = createMemoryBus({ clock, logger, partitions: 1, ...options });
    return bus;
  };
  beforeEach(() => {
    clock = new ManualClock();
    logger = new MemoryLogger();
  });
  afterEach(() => bus.close());

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

  it("never trims what a group with members has not committed", async () => {
    open({ retentionRecords: 0, capacityRecords: 50 });
    const seen: number[] = [];
    const gate = Promise.withResolvers<void>();
    await bus.subscribe({
      topics: [TOPIC],
      group: "g",
      from: "earliest",
      maxBatchRecords: 10,
      onBatch: async (batch) => {
        await gate.promise;
        seen.push(...batch.records.map(({ offset }) => offset));
        await batch.commit();
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
    await bus.subscribe({ topics: [TOPIC], group: "g", from: "earliest", onBatch: async () => undefined });
    const publishing = Promise.allSettled(
      Array.from({ length: 50 }, () => bus.publish(TOPIC, [record("a", 10_000)])),
    );
    await clock.advance(1_000);
    const results = await publishing;
    expect(bus.inspect()[0]?.bytes).toBeLessThanOrEqual(100_000);
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(9);
  });

  it("reports what a group without members missed, and goes on with what is kept", async () => {
    open({ retentionRecords: 5 });
    const offsets: number[] = [];
    const join = () =>
      bus.subscribe({
        topics: [TOPIC],
        group: "g",
        from: "earliest",
        onBatch: async (batch) => void offsets.push(...batch.records.map(({ offset }) => offset)),
      });
    await (await join()).close();
    for (let i = 0; i < 20; i += 1) await bus.publish(TOPIC, [record("a")]);
    await join();
    await vi.waitFor(() => expect(offsets).toEqual([15, 16, 17, 18, 19]));
    expect(logger.lines).toContainEqual(
      expect.objectContaining({
        event: "bus records expired before the group read them",
        fields: expect.objectContaining({ count: 15 }),
      }),
    );
  });

  it("lets waiting publishers in when the group that held them leaves", async () => {
    open({ capacityRecords: 1 });
    const subscription = await bus.subscribe({
      topics: [TOPIC],
      group: "g",
      from: "earliest",
      onBatch: async () => undefined,
    });
    await bus.publish(TOPIC, [record("a")]);
    const waiting = bus.publish(TOPIC, [record("a")]);
    await subscription.close();
    await waiting;
    expect(bus.inspect()[0]?.endOffset).toBe(2);
  });

  it("rejects waiting publishers when it closes", async () => {
    open({ capacityRecords: 1 });
    await bus.subscribe({ topics: [TOPIC], group: "g", from: "earliest", onBatch: async () => undefined });
    await bus.publish(TOPIC, [record("a")]);
    const [waiting] = await Promise.allSettled([bus.publish(TOPIC, [record("a")]), bus.close()]);
    expect(waiting).toMatchObject({ status: "rejected", reason: { code: "closed" } });
  });

  it("appends one publish to all its partitions or to none", async () => {
    open({ partitions: 4, capacityRecords: 2, publishTimeoutMs: 1_000 });
    await bus.subscribe({ topics: [TOPIC], group: "g", from: "earliest", onBatch: async () => undefined });
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
      group: "g",
      from: "earliest",
      maxBatchBytes: 1_500,
      onBatch: async (batch) => void sizes.push(batch.records.length),
    });
    await vi.waitFor(() => expect(sizes).toEqual([2, 1, 1]));
  });

  it("moves as few partitions as possible when a member joins or leaves", async () => {
    open({ partitions: 6 });
    const owned = new Map<string, Set<number>>();
    const moves: string[] = [];
    const numbers = (partitions: readonly TopicPartition[]): number[] =>
      partitions.map(({ partition }) => partition);
    const join = (name: string) => {
      owned.set(name, new Set());
      return bus.subscribe({
        topics: [TOPIC],
        group: "g",
        from: "earliest",
        onBatch: async () => undefined,
        onAssigned: async (partitions) => numbers(partitions).forEach((p) => owned.get(name)?.add(p)),
        onRevoked: async (partitions) =>
          numbers(partitions).forEach((p) => {
            moves.push(name);
            owned.get(name)?.delete(p);
          }),
      });
    };
    const sizes = (): number[] => [...owned.values()].map(({ size }) => size);
    await join("a");
    await vi.waitFor(() => expect(sizes()).toEqual([6]));
    await join("b");
    await vi.waitFor(() => expect(sizes()).toEqual([3, 3]));
    const third = await join("c");
    await vi.waitFor(() => expect(sizes()).toEqual([2, 2, 2]));
    expect(moves.toSorted()).toEqual(["a", "a", "a", "a", "b"].toSorted());
    await third.close();
    await vi.waitFor(() => expect(sizes()).toEqual([3, 3, 0]));
    expect(moves.filter((name) => name !== "c")).toHaveLength(5);
  });

  it("delivers nothing until onAssigned has succeeded, and tries it again after a pause", async () => {
    open({ redeliveryDelayMs: 1_000 });
    let attempts = 0;
    const batches: Batch[] = [];
    await bus.publish(TOPIC, [record("a")]);
    await bus.subscribe({
      topics: [TOPIC],
      group: "g",
      from: "earliest",
      onBatch: async (batch) => void batches.push(batch),
      onAssigned: async () => {
        attempts += 1;
        if (attempts === 1) throw new Error("no checkpoint yet");
      },
    });
    await clock.advance(999);
    expect([attempts, batches.length]).toEqual([1, 0]);
    await clock.advance(1);
    await vi.waitFor(() => expect([attempts, batches.length]).toEqual([2, 1]));
  });

  it("stamps records with the clock's time of their appending", async () => {
    open();
    const times: number[] = [];
    await bus.subscribe({
      topics: [TOPIC],
      group: "g",
      from: "earliest",
      onBatch: async (batch) => void times.push(...batch.records.map(({ appendedAtMs }) => appendedAtMs)),
    });
    const startMs = clock.now();
    await bus.publish(TOPIC, [record("a")]);
    await clock.advance(1_234);
    await bus.publish(TOPIC, [record("a")]);
    await vi.waitFor(() => expect(times).toEqual([startMs, startMs + 1_234]));
  });

  it("refuses a commit beyond the batch, and ignores one that goes back", async () => {
    open();
    let last: Batch | undefined;
    await bus.publish(TOPIC, [record("a"), record("a")]);
    await bus.subscribe({
      topics: [TOPIC],
      group: "g",
      from: "earliest",
      onBatch: async (batch) => void (last = batch),
    });
    await vi.waitFor(() => expect(last).toBeDefined());
    await expect(last?.commit(3)).rejects.toMatchObject({ code: "invalid_offset" });
    await expect(last?.commit(Number.NaN)).rejects.toMatchObject({ code: "invalid_offset" });
    await last?.commit(2);
    await last?.commit(1);
    expect(bus.inspect()[0]?.backlogRecords).toBe(0);
  });

  it.each([
    ["partitions", 0],
    ["capacityRecords", 1.5],
    ["publishTimeoutMs", -1],
  ])("refuses %s of %d, naming it", (name, value) => {
    open();
    expect(() => createMemoryBus({ clock, [name]: value })).toThrow(new RegExp(`${name} .* got ${value}`));
  });

  it("refuses a batch bound of 0, naming the group", async () => {
    open();
    const subscribing = bus.subscribe({
      topics: [TOPIC],
      group: "g",
      from: "latest",
      maxBatchRecords: 0,
      onBatch: async () => undefined,
    });
    await expect(subscribing).rejects.toThrow(
      "maxBatchRecords of group g must be a whole number of at least 1, got 0",
    );
  });
});

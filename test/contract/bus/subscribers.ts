import type { Batch } from "@isochrone/bus";
import { expect, it } from "vitest";
import { numbered, record, spread, textOf } from "./harness.ts";
import type { BusHarness } from "./harness.ts";

const REDELIVERY_PAUSE_MS = 5_000;

export function describeSubscribers(under: BusHarness): void {
  it("each get every record, and go on with what is published later", async () => {
    await under.bus.publish(under.topic, spread(30));
    const readers = [await under.collect(), await under.collect()];
    await under.waitFor(() => {
      for (const reader of readers) expect(reader.texts().length).toBe(30);
    });
    await under.bus.publish(under.topic, spread(10));
    await under.waitFor(() => {
      for (const reader of readers) expect(reader.texts().toSorted()).toEqual(twice(30, 10));
    });
  });

  it("begin where they are told to: at the first record appended since a time, or at the end", async () => {
    await under.bus.publish(under.topic, spread(20));
    const first = await under.collect();
    await under.waitFor(() => expect(first.records.length).toBe(20));
    const lastMs = Math.max(...first.records.map(({ appendedAtMs }) => appendedAtMs));
    await under.pass(2);
    await under.bus.publish(under.topic, spread(15));
    const since = await under.collect({ from: { sinceMs: lastMs + 1 } });
    const all = await under.collect({ from: { sinceMs: 0 } });
    const none = await under.collect({ from: { sinceMs: lastMs + 3_600_000 } });
    const latest = await under.collect({ from: "latest" });
    await under.bus.publish(under.topic, spread(5));
    await under.waitFor(() => {
      expect(since.texts().toSorted()).toEqual(twice(15, 5));
      expect(all.records.length).toBe(40);
      expect(none.texts().toSorted()).toEqual(numbered(5).toSorted());
      expect(latest.texts().toSorted()).toEqual(numbered(5).toSorted());
    });
  });

  it("are told once when they have handled all that was there, an empty topic included", async () => {
    const empty = await under.collect();
    await under.waitFor(() => expect(empty.caughtUpAt).toEqual([0]));
    await under.bus.publish(under.topic, spread(200));
    const reader = await under.collect({ maxBatchRecords: 7 });
    await under.waitFor(() => expect(reader.caughtUpAt).toEqual([200]));
    await under.bus.publish(under.topic, spread(3));
    await under.waitFor(() => expect(reader.records.length).toBe(203));
    expect([reader.caughtUpAt, empty.caughtUpAt]).toEqual([[200], [0]]);
  });

  it("get a batch again whose handler threw, in order and after a pause", async () => {
    const attempts: string[] = [];
    await under.collect({
      maxBatchRecords: 1,
      async onBatch({ records }) {
        const text = textOf(records[0]!);
        attempts.push(text);
        if (text === "1" && attempts.filter((other) => other === "1").length < 3) throw new Error("not now");
      },
    });
    await under.bus.publish(
      under.topic,
      numbered(3).map((text) => record("node-a", text)),
    );
    await under.waitFor(() => expect(attempts).toEqual(["0", "1"]));
    await under.pass(REDELIVERY_PAUSE_MS);
    await under.waitFor(() => expect(attempts.slice(0, 3)).toEqual(["0", "1", "1"]));
    await under.pass(REDELIVERY_PAUSE_MS);
    await under.waitFor(() => expect(attempts).toEqual(["0", "1", "1", "1", "2"]));
  });

  it("are held up by a slow handler of one partition in that partition alone", async () => {
    const gate = Promise.withResolvers<void>();
    const seen = new Map<number, number>();
    let held = -1;
    const onBatch = async (batch: Batch): Promise<void> => {
      if (held === -1) held = batch.partition;
      if (batch.partition === held) await gate.promise;
      seen.set(batch.partition, (seen.get(batch.partition) ?? 0) + batch.records.length);
    };
    await under.collect({ onBatch, maxBatchRecords: 5 });
    for (let round = 0; round < 2; round += 1) await under.bus.publish(under.topic, spread(80));
    const all = (): number => [...seen.values()].reduce((sum, count) => sum + count, 0);
    await under.waitFor(() => expect(seen.size).toBe(under.capabilities.partitions - 1));
    expect(seen.has(held)).toBe(false);
    gate.resolve();
    await under.waitFor(() => expect(all()).toBe(160));
  });

  it("wait for the running handler when they close, and get nothing afterwards", async () => {
    const gate = Promise.withResolvers<void>();
    let started = false;
    const reader = await under.collect({
      maxBatchRecords: 1,
      onBatch: async (batch) => {
        started = true;
        await gate.promise;
        reader.records.push(...batch.records);
      },
    });
    await under.bus.publish(
      under.topic,
      numbered(3).map((text) => record("node-a", text)),
    );
    await under.waitFor(() => expect(started).toBe(true));
    let closed = false;
    const closing = reader.subscription.close().then(() => (closed = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(closed).toBe(false);
    gate.resolve();
    await closing;
    await reader.subscription.close();
    expect(reader.texts()).toEqual(["0"]);
  });
}

function twice(...counts: readonly number[]): string[] {
  return counts.flatMap(numbered).toSorted();
}

import { partitionOf } from "@isochrone/bus/testing";
import type { Batch } from "@isochrone/bus";
import { expect, it } from "vitest";
import { numbered, record, spread } from "./harness.ts";
import type { BusHarness } from "./harness.ts";

export function describeOrder(under: BusHarness): void {
  it("delivers the records of one key in the order of their publishing", async () => {
    const member = await under.collect();
    const texts = numbered(90);
    for (const text of texts.slice(0, 50)) await under.bus.publish(under.topic, [record("node-a", text)]);
    await under.bus.publish(
      under.topic,
      texts.slice(50).map((text) => record("node-a", text)),
    );
    await under.waitFor(() => expect(member.records).toHaveLength(90));
    expect(member.texts()).toEqual(texts);
  });

  it("keeps the order of one key even when the publisher does not wait in between", async () => {
    const member = await under.collect();
    const texts = numbered(100);
    await Promise.all(texts.map((text) => under.bus.publish(under.topic, [record("node-a", text)])));
    await under.waitFor(() => expect(member.records).toHaveLength(100));
    expect(member.texts()).toEqual(texts);
  });

  it("puts a key where Kafka's default partitioner puts it, each time", async () => {
    const member = await under.collect();
    const keys = numbered(40).map((text) => `node-${text}`);
    await under.bus.publish(
      under.topic,
      [...keys, ...keys].map((key) => record(key, key)),
    );
    await under.waitFor(() => expect(member.records).toHaveLength(80));
    for (const { key, partition } of member.records)
      expect(partition).toBe(partitionOf(key, under.capabilities.partitions));
    expect(new Set(member.records.map(({ partition }) => partition)).size).toBe(
      under.capabilities.partitions,
    );
  });

  it("gives ascending offsets and batches of one partition only", async () => {
    const batches: Batch[] = [];
    await under.collect({ onBatch: async (batch) => void batches.push(batch), maxBatchRecords: 7 });
    await under.bus.publish(under.topic, spread(100));
    const count = (): number => batches.reduce((sum, { records }) => sum + records.length, 0);
    await under.waitFor(() => expect(count()).toBe(100));
    const next = new Map<number, number>();
    for (const batch of batches) {
      expect(batch.records.length).toBeGreaterThan(0);
      expect(batch.records.length).toBeLessThanOrEqual(7);
      for (const { partition, offset } of batch.records) {
        expect(partition).toBe(batch.partition);
        const expected = next.get(partition) ?? 0;
        expect(offset).toBeGreaterThanOrEqual(expected);
        expect(offset - expected).toBeLessThanOrEqual(under.capabilities.denseOffsets ? 0 : Infinity);
        next.set(partition, offset + 1);
      }
    }
  });

  it("runs no two handlers of one partition at once, however slow they are", async () => {
    let running = 0;
    let most = 0;
    let count = 0;
    await under.collect({
      maxBatchRecords: 2,
      onBatch: async (batch) => {
        running += 1;
        most = Math.max(most, running);
        for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
        count += batch.records.length;
      },
    });
    await under.bus.publish(
      under.topic,
      numbered(30).map((text) => record("node-a", text)),
    );
    await under.waitFor(() => expect(count).toBe(30));
    expect(most).toBe(1);
  });
}

import type { Batch, TopicPartition } from "@isochrone/bus";
import { expect, it } from "vitest";
import { numbered, record, spread, textOf } from "./harness.ts";
import type { BusHarness } from "./harness.ts";

const REDELIVERY_PAUSE_MS = 5_000;

/** What members hear of the partitions they get and give up, and what goes on meanwhile. */
export function describeHandOver(under: BusHarness): void {
  const { cooperativeHandOver, awaitsRevocation, partitions } = under.capabilities;

  it.runIf(awaitsRevocation)("awaits onRevoked before another member is given the partitions", async () => {
    const log: string[] = [];
    const gate = Promise.withResolvers<void>();
    await under.collect("g", {
      onAssigned: async () => void log.push("first assigned"),
      onRevoked: async () => {
        log.push("first revoking");
        await gate.promise;
        log.push("first revoked");
      },
    });
    await under.waitFor(() => expect(log).toContain("first assigned"));
    const joining = under.collect("g", { onAssigned: async () => void log.push("second assigned") });
    await under.waitFor(() => expect(log).toContain("first revoking"));
    expect(log).not.toContain("second assigned");
    gate.resolve();
    await joining;
    await under.waitFor(() => expect(log).toContain("second assigned"));
    expect(log.indexOf("first revoked")).toBeLessThan(log.indexOf("second assigned"));
  });

  it("awaits onAssigned before the first batch, and calls it again after it threw", async () => {
    const log: string[] = [];
    const gate = Promise.withResolvers<void>();
    await under.bus.publish(under.topic, [record("node-a", "x")]);
    await under.collect("g", {
      onAssigned: async () => {
        log.push("assigned");
        if (log.length === 1) throw new Error("not yet");
        await gate.promise;
        log.push("ready");
      },
      onBatch: async () => void log.push("batch"),
    });
    await under.waitFor(() => expect(log).toHaveLength(1));
    await under.pass(REDELIVERY_PAUSE_MS);
    await under.waitFor(() => expect(log).toHaveLength(2));
    gate.resolve();
    await under.waitFor(() => expect(log).toHaveLength(4));
    expect(log).toEqual(["assigned", "assigned", "ready", "batch"]);
  });

  it("tells each member all the partitions it got, and at the end that it gave them up", async () => {
    const held = new Map<number, number>();
    const change = (by: number) => async (changed: readonly TopicPartition[]) => {
      for (const { topic, partition } of changed) {
        expect(topic).toBe(under.topic);
        held.set(partition, (held.get(partition) ?? 0) + by);
      }
    };
    const handlers = { onAssigned: change(1), onRevoked: change(-1) };
    const members = [await under.collect("g", handlers), await under.collect("g", handlers)];
    const once = new Map<number, number>(Array.from({ length: partitions }, (_, i) => [i, 1] as const));
    await under.waitFor(() => expect(held).toEqual(once));
    for (const { subscription } of members) await subscription.close();
    expect(new Set(held.values())).toEqual(new Set([0]));
  });

  it.runIf(cooperativeHandOver)(
    "delivers on from partitions that stay while others change hands",
    async () => {
      const gate = Promise.withResolvers<void>();
      const revoking: number[] = [];
      const delivered = new Map<number, string>();
      await under.collect("g", {
        onBatch: async (batch) => void delivered.set(batch.partition, textOf(batch.records.at(-1)!)),
        onRevoked: async (revoked) => {
          revoking.push(...revoked.map(({ partition }) => partition));
          await gate.promise;
        },
      });
      await under.bus.publish(under.topic, spread(40));
      await under.waitFor(() => expect(delivered.size).toBe(partitions));
      const joining = under.collect("g");
      await under.waitFor(() => expect(revoking.length).toBeGreaterThan(0));
      expect(revoking.length).toBeLessThan(partitions);
      const staying = [...delivered.keys()].filter((partition) => !revoking.includes(partition));
      const afterwards = numbered(40).map((text) => record(`node-${text}`, "afterwards"));
      await under.bus.publish(under.topic, afterwards);
      await under.waitFor(() =>
        expect(staying.map((partition) => delivered.get(partition))).toEqual(staying.map(() => "afterwards")),
      );
      gate.resolve();
      await joining;
    },
  );

  it("lets a slow handler of one partition hold up only that partition", async () => {
    const gate = Promise.withResolvers<void>();
    const seen = new Map<number, number>();
    let held = -1;
    const onBatch = async (batch: Batch): Promise<void> => {
      if (held === -1) held = batch.partition;
      if (batch.partition === held) await gate.promise;
      seen.set(batch.partition, (seen.get(batch.partition) ?? 0) + batch.records.length);
      await batch.commit();
    };
    await under.collect("g", { onBatch, maxBatchRecords: 5 });
    for (let round = 0; round < 3; round += 1) await under.bus.publish(under.topic, spread(80));
    const all = (): number => [...seen.values()].reduce((sum, count) => sum + count, 0);
    await under.waitFor(() => expect(seen.size).toBe(partitions - 1));
    expect(seen.has(held)).toBe(false);
    gate.resolve();
    await under.waitFor(() => expect(all()).toBe(240));
  });
}

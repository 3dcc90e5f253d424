import type { Batch, BusRecord } from "@isochrone/bus";
import { expect, it } from "vitest";
import { decode, numbered, record, spread } from "./harness.ts";
import type { BusHarness, Collected } from "./harness.ts";

/** Who gets what: groups, their members, and how partitions pass between them. */
export function describeGroups(under: BusHarness): void {
  it("gives every group everything", async () => {
    const [one, other] = [await under.collect("g1"), await under.collect("g2")];
    await under.bus.publish(under.topic, spread(60));
    await under.waitFor(() => expect([one.records.length, other.records.length]).toEqual([60, 60]));
  });

  it("shares the partitions of a topic among the members of a group, each record once", async () => {
    const members = [await collectOwning(under), await collectOwning(under)];
    const { partitions } = under.capabilities;
    const half = Math.floor(partitions / 2);
    await under.waitFor(() =>
      expect(members.map(({ owned }) => owned.size).toSorted((a, b) => a - b)).toEqual([
        half,
        partitions - half,
      ]),
    );
    await under.bus.publish(under.topic, spread(200));
    const all = (): BusRecord[] => members.flatMap(({ records }) => records);
    await under.waitFor(() => expect(all()).toHaveLength(200));
    expect(new Set(all().map(({ partition, offset }) => `${partition}/${offset}`)).size).toBe(200);
    for (const { records } of members) expect(records.length).toBeGreaterThan(0);
  });

  it("hands partitions over to a new member without loss and in order", async () => {
    const seen = new Map<string, string[]>();
    const note = async (batch: Batch): Promise<void> => {
      for (const { key, value } of batch.records) seen.set(key, [...(seen.get(key) ?? []), decode(value)]);
      await batch.commit();
    };
    await under.collect("g", { onBatch: note, maxBatchRecords: 5 });
    const keys = numbered(12).map((text) => `node-${text}`);
    for (let round = 0; round < 30; round += 1) {
      if (round === 10) await under.collect("g", { onBatch: note, maxBatchRecords: 5 });
      await under.bus.publish(
        under.topic,
        keys.map((key) => record(key, String(round))),
      );
    }
    const rounds = Array.from({ length: 30 }, (_, i) => String(i));
    const distinct = (): number[] => keys.map((key) => new Set(seen.get(key)).size);
    await under.waitFor(() => expect(distinct()).toEqual(keys.map(() => 30)));
    // At least once: a repeat is allowed, a step back to something never delivered before is not.
    for (const key of keys) expect([...new Set(seen.get(key))]).toEqual(rounds);
  });

  it("begins at the end for a new group that asks for the latest, and at the begin for the earliest", async () => {
    await under.bus.publish(under.topic, [record("node-a", "old")]);
    const latest = await under.collect("late", { from: "latest" });
    const earliest = await under.collect("early", { from: "earliest" });
    await under.bus.publish(under.topic, [record("node-a", "new")]);
    await under.waitFor(() => expect(earliest.texts()).toEqual(["old", "new"]));
    await under.waitFor(() => expect(latest.texts()).toEqual(["new"]));
  });

  it("waits for the running handler when a subscription closes, and delivers nothing afterwards", async () => {
    const gate = Promise.withResolvers<void>();
    let started = false;
    const member = await under.collect("g", {
      maxBatchRecords: 1,
      onBatch: async (batch) => {
        started = true;
        await gate.promise;
        member.records.push(...batch.records);
      },
    });
    await under.bus.publish(
      under.topic,
      numbered(3).map((text) => record("node-a", text)),
    );
    await under.waitFor(() => expect(started).toBe(true));
    let closed = false;
    const closing = member.subscription.close().then(() => (closed = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(closed).toBe(false);
    gate.resolve();
    await closing;
    await member.subscription.close();
    expect(member.texts()).toEqual(["0"]);
  });
}

/** A member that notes which partitions it has. */
async function collectOwning(under: BusHarness): Promise<Collected & { readonly owned: Set<number> }> {
  const owned = new Set<number>();
  const collected = await under.collect("g", {
    onAssigned: async (partitions) => {
      for (const { partition } of partitions) owned.add(partition);
    },
    onRevoked: async (partitions) => {
      for (const { partition } of partitions) owned.delete(partition);
    },
  });
  return { ...collected, owned };
}

import type { Batch, BusRecord } from "@isochrone/bus";
import { expect, it } from "vitest";
import { decode, numbered, record, spread } from "./harness.ts";
import type { BusHarness } from "./harness.ts";

/** Who gets what: groups, their members, and how partitions pass between them. */
export function describeGroups(under: BusHarness): void {
  it("gives every group everything", async () => {
    const [one, other] = [await under.collect("g1"), await under.collect("g2")];
    await under.bus.publish(under.topic, spread(60));
    await under.waitFor(() => expect([one.records.length, other.records.length]).toEqual([60, 60]));
  });

  it("shares the partitions of a topic among the members of a group, each record once", async () => {
    const members = [await under.collect("g"), await under.collect("g")];
    await under.pass(0);
    await waitForBalance(under);
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
    await under.waitFor(() =>
      expect([...seen.values()].every((texts) => new Set(texts).size === 30)).toBe(true),
    );
    // At least once: a repeat is allowed, a step back to something never delivered before is not.
    for (const key of keys) expect([...new Set(seen.get(key))]).toEqual(rounds);
  });

  it("awaits onRevoked before another member is given the partitions", async () => {
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

/** Joins an own group for a moment: when that one has been served, earlier rebalances have been too. */
async function waitForBalance(under: BusHarness): Promise<void> {
  let assigned = false;
  const onAssigned = async (): Promise<void> => void (assigned = true);
  const subscription = await under.bus.subscribe({
    topics: [under.topic],
    group: "probe",
    from: "latest",
    onBatch: async () => undefined,
    onAssigned,
  });
  await under.waitFor(() => expect(assigned).toBe(true));
  await subscription.close();
}

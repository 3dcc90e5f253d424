import { BusError, type Batch, type BusRecord } from "@isochrone/bus";
import { expect, it } from "vitest";
import { numbered, record } from "./harness.ts";
import type { BusHarness } from "./harness.ts";

export function describeBackPressure(under: BusHarness): void {
  it("makes publishers wait for the slowest subscriber, and lets them in when it goes on", async () => {
    const gate = Promise.withResolvers<void>();
    let handled = 0;
    await under.collect({
      maxBatchRecords: 10,
      onBatch: async (batch) => {
        await gate.promise;
        handled += batch.records.length;
      },
    });
    await under.collect();
    await under.bus.publish(
      under.topic,
      numbered(100).map((text) => record("node-a", text)),
    );
    let published = false;
    const waiting = under.bus
      .publish(under.topic, [record("node-a", "one more")])
      .then(() => (published = true));
    await under.pass(100);
    expect(published).toBe(false);
    gate.resolve();
    await waiting;
    await under.waitFor(() => expect(handled).toBe(101));
  });

  it("refuses a publisher in the end, so that it may try again", async () => {
    const held = await collectHeld(under);
    await under.bus.publish(
      under.topic,
      numbered(100).map((text) => record("node-a", text)),
    );
    const [late] = await Promise.allSettled([
      under.bus.publish(under.topic, [record("node-a", "x")]),
      under.pass(2_500),
    ]);
    expect(late).toMatchObject({ status: "rejected", reason: { code: "overloaded", retryable: true } });
    held.release();
    await under.waitFor(() => expect(held.records).toHaveLength(100));
  });

  it("ends the wait of a publisher whose signal aborts, without its records", async () => {
    const held = await collectHeld(under);
    await under.bus.publish(
      under.topic,
      numbered(100).map((text) => record("node-a", text)),
    );
    const abort = new AbortController();
    const waiting = under.bus.publish(under.topic, [record("node-a", "x")], { signal: abort.signal });
    abort.abort(new Error("changed my mind"));
    await expect(waiting).rejects.toBeInstanceOf(BusError);
    await expect(waiting).rejects.toMatchObject({ code: "aborted" });
    held.release();
    await under.waitFor(() => expect(held.records).toHaveLength(100));
  });
}

async function collectHeld(under: BusHarness): Promise<{ records: BusRecord[]; release(): void }> {
  const gate = Promise.withResolvers<void>();
  const records: BusRecord[] = [];
  const onBatch = async (batch: Batch): Promise<void> => {
    await gate.promise;
    records.push(...batch.records);
  };
  await under.collect({ onBatch });
  return { records, release: gate.resolve };
}

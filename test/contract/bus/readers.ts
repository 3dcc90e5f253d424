import { expect, it } from "vitest";
import { numbered, spread, textOf } from "./harness.ts";
import type { BusHarness } from "./harness.ts";

/** Subscribers without a group. */
export function describeReaders(under: BusHarness): void {
  it("each get every record, and go on with what is published later", async () => {
    await under.bus.publish(under.topic, spread(30));
    const readers = [await under.read("earliest"), await under.read("earliest")];
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
    const first = await under.read("earliest");
    await under.waitFor(() => expect(first.records.length).toBe(20));
    const lastMs = Math.max(...first.records.map(({ appendedAtMs }) => appendedAtMs));
    await under.pass(2);
    await under.bus.publish(under.topic, spread(15));
    const since = await under.read({ sinceMs: lastMs + 1 });
    const all = await under.read({ sinceMs: 0 });
    const none = await under.read({ sinceMs: lastMs + 3_600_000 });
    const latest = await under.read("latest");
    await under.bus.publish(under.topic, spread(5));
    await under.waitFor(() => {
      expect(since.texts().toSorted()).toEqual(twice(15, 5));
      expect(all.records.length).toBe(40);
      expect(none.texts().toSorted()).toEqual(numbered(5).toSorted());
      expect(latest.texts().toSorted()).toEqual(numbered(5).toSorted());
    });
  });

  it("are told once when they have handled all that was there, an empty topic included", async () => {
    const empty = await under.read("earliest");
    await under.waitFor(() => expect(empty.caughtUpAt).toEqual([0]));
    await under.bus.publish(under.topic, spread(200));
    const reader = await under.read("earliest", { maxBatchRecords: 7 });
    await under.waitFor(() => expect(reader.caughtUpAt).toEqual([200]));
    await under.bus.publish(under.topic, spread(3));
    await under.waitFor(() => expect(reader.records.length).toBe(203));
    expect([reader.caughtUpAt, empty.caughtUpAt]).toEqual([[200], [0]]);
  });

  it("get a batch again whose handler threw, in order", async () => {
    await under.bus.publish(under.topic, spread(40));
    let isFailing = true;
    const taken: string[] = [];
    await under.bus.subscribe({
      topics: [under.topic],
      from: "earliest",
      async onBatch({ records }) {
        if (isFailing) throw new Error("the handler fails for now");
        taken.push(...records.map(textOf));
      },
    });
    isFailing = false;
    await under.pass(1_000);
    await under.waitFor(() => expect(taken.toSorted()).toEqual(numbered(40).toSorted()));
  });
}

function twice(...counts: readonly number[]): string[] {
  return counts.flatMap(numbered).toSorted();
}

import type { Batch } from "@isochrone/bus";
import { expect, it } from "vitest";
import { numbered, record, spread, textOf } from "./harness.ts";
import type { BusHarness } from "./harness.ts";

const REDELIVERY_PAUSE_MS = 5_000;

/** What is delivered again, and from where. */
export function describeCommits(under: BusHarness): void {
  it("lets a member commit in onRevoked, and its successor begins there", async () => {
    let last: Batch | undefined;
    const first = await under.collect("g", {
      onBatch: async (batch) => void (last = batch),
      onRevoked: async () => await last?.commit(),
    });
    await under.bus.publish(under.topic, [record("node-a", "done")]);
    await under.waitFor(() => expect(last).toBeDefined());
    await first.subscription.close();
    const second = await under.collect("g");
    await under.bus.publish(under.topic, [record("node-a", "new")]);
    await under.waitFor(() => expect(second.texts()).toEqual(["new"]));
  });

  it("redelivers from the last commit after a member went without committing", async () => {
    const first = await under.collect("g", {
      maxBatchRecords: 1,
      onBatch: async (batch) => {
        first.records.push(...batch.records);
        if (textOf(batch.records[0]!) === "0") await batch.commit();
      },
    });
    await under.bus.publish(
      under.topic,
      numbered(5).map((text) => record("node-a", text)),
    );
    await under.waitFor(() => expect(first.records).toHaveLength(5));
    await first.subscription.close();
    const second = await under.collect("g");
    await under.waitFor(() => expect(second.texts()).toEqual(["1", "2", "3", "4"]));
  });

  it("does not deliver again what was committed before a restart of the member", async () => {
    const first = await under.collect("g");
    await under.bus.publish(under.topic, spread(50));
    await under.waitFor(() => expect(first.records).toHaveLength(50));
    await first.subscription.close();
    await under.bus.publish(under.topic, [record("node-a", "after")]);
    const second = await under.collect("g");
    await under.waitFor(() => expect(second.texts()).toEqual(["after"]));
  });

  it("commits inside a batch where asked, and redelivers only the rest", async () => {
    const first = await under.collect("g", {
      onBatch: async (batch) => {
        first.records.push(...batch.records);
        await batch.commit(batch.records[1]!.offset + 1);
      },
    });
    await under.bus.publish(
      under.topic,
      numbered(4).map((text) => record("node-a", text)),
    );
    await under.waitFor(() => expect(first.records).toHaveLength(4));
    await first.subscription.close();
    const second = await under.collect("g");
    await under.waitFor(() => expect(second.texts()).toEqual(["2", "3"]));
  });

  it("refuses a commit of a partition that was handed over", async () => {
    let last: Batch | undefined;
    const first = await under.collect("g", { onBatch: async (batch) => void (last = batch) });
    await under.bus.publish(under.topic, [record("node-a", "x")]);
    await under.waitFor(() => expect(last).toBeDefined());
    await first.subscription.close();
    await expect(last!.commit()).rejects.toMatchObject({
      name: "BusError",
      code: "not_assigned",
      retryable: false,
    });
  });

  it("redelivers a batch whose handler threw, in order and after a pause, and goes on", async () => {
    const attempts: string[] = [];
    await under.collect("g", {
      maxBatchRecords: 1,
      onBatch: async (batch) => {
        const text = textOf(batch.records[0]!);
        attempts.push(text);
        if (text === "1" && attempts.filter((other) => other === "1").length < 3) throw new Error("not now");
        await batch.commit();
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
}

import { BusError, type Batch } from "@isochrone/bus";
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

  it("ignores a commit before what is committed already, also one that overtakes", async () => {
    const first = await under.collect("g", {
      onBatch: async (batch) => {
        const [begin] = batch.records;
        await Promise.all([batch.commit(begin!.offset + 3), batch.commit(begin!.offset + 1)]);
        await batch.commit(begin!.offset + 2);
        first.records.push(...batch.records);
      },
    });
    await under.bus.publish(
      under.topic,
      numbered(5).map((text) => record("node-a", text)),
    );
    await under.waitFor(() => expect(first.records).toHaveLength(5));
    await first.subscription.close();
    const second = await under.collect("g");
    await under.waitFor(() => expect(second.texts()).toEqual(["3", "4"]));
  });

  it("refuses a commit beyond the batch", async () => {
    const refusals: unknown[] = [];
    await under.collect("g", {
      onBatch: async (batch) => {
        const end = batch.records.at(-1)!.offset + 1;
        for (const offset of [end + 1, -1, 0.5])
          await batch.commit(offset).catch((error: unknown) => refusals.push(error));
      },
    });
    await under.bus.publish(under.topic, [record("node-a", "x")]);
    await under.waitFor(() => expect(refusals).toHaveLength(3));
    for (const refusal of refusals)
      expect(refusal).toMatchObject({ code: "invalid_offset", retryable: false });
  });

  it("serves a member that never commits: it gets everything, and leaves nothing behind", async () => {
    await under.bus.publish(under.topic, spread(30));
    const first = await under.collect("g", { commit: false });
    await under.waitFor(() => expect(first.records).toHaveLength(30));
    await first.subscription.close();
    const second = await under.collect("g", { commit: false });
    await under.waitFor(() => expect(second.records).toHaveLength(30));
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

  it("redelivers a batch whose handler postponed it, like after any throw", async () => {
    const attempts: string[] = [];
    await under.collect("g", {
      maxBatchRecords: 1,
      onBatch: async (batch) => {
        const text = textOf(batch.records[0]!);
        attempts.push(text);
        if (text === "1" && attempts.length < 3) throw new BusError("postponed", "not yet");
        await batch.commit();
      },
    });
    await under.bus.publish(
      under.topic,
      numbered(3).map((text) => record("node-a", text)),
    );
    await under.waitFor(() => expect(attempts).toEqual(["0", "1"]));
    await under.pass(REDELIVERY_PAUSE_MS);
    await under.waitFor(() => expect(attempts).toEqual(["0", "1", "1", "2"]));
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

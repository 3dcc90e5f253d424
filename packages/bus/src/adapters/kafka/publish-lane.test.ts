import { describe, expect, it } from "vitest";

import { BusError } from "../../ports/errors.ts";
import type { KafkaRecord } from "./client/client.ts";
import { PublishLane } from "./publish-lane.ts";
import type { Part } from "./publish-lane.ts";
import { sizeOf } from "./client/records.ts";

function part(...texts: string[]): Part {
  const records = texts.map((text): KafkaRecord => ({
    key: Buffer.from("k"),
    value: Buffer.from(text),
    headers: {},
  }));
  const bytes = records.reduce((sum, record) => sum + sizeOf(record), 0);
  return { records, bytes, done: Promise.withResolvers<void>() };
}

function textsOf(records: readonly KafkaRecord[]): string[] {
  return records.map(({ value }) => value?.toString() ?? "");
}

async function outcomes(parts: readonly Part[]): Promise<string[]> {
  const settled = await Promise.allSettled(parts.map(({ done }) => done.promise));
  return settled.map(({ status }) => status);
}

describe("PublishLane", () => {
  it("sends one batch at a time, and what came meanwhile together", async () => {
    const batches: string[][] = [];
    const gate = Promise.withResolvers<void>();
    const lane = new PublishLane(async (records) => {
      batches.push(textsOf(records));
      await gate.promise;
    });
    const parts = ["a", "b", "c"].map((text) => part(text));
    lane.push(parts[0]!);
    await Promise.resolve();
    await Promise.resolve();
    for (const later of parts.slice(1)) lane.push(later);
    gate.resolve();
    expect(await outcomes(parts)).toEqual(["fulfilled", "fulfilled", "fulfilled"]);
    expect(batches).toEqual([["a"], ["b", "c"]]);
  });

  it("splits what is more than a broker takes at once, in order", async () => {
    const batches: string[][] = [];
    const lane = new PublishLane(async (records) => void batches.push(textsOf(records)));
    const large = part("a".repeat(500_000), "b".repeat(500_000), "c");
    lane.push(large);
    await large.done.promise;
    expect(batches.map((texts) => texts.map((text) => text[0]))).toEqual([["a"], ["b", "c"]]);
  });

  it("finds the one that is refused for good among those that went together", async () => {
    const lane = new PublishLane(async (records) => {
      if (textsOf(records).includes("bad")) throw new BusError("too_large", "never");
    });
    const parts = ["a", "bad", "c"].map((text) => part(text));
    for (const each of parts) lane.push(each);
    expect(await outcomes(parts)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  });

  it("fails all that went together when it may work later", async () => {
    const lane = new PublishLane(() => Promise.reject(new BusError("unavailable", "away")));
    const parts = ["a", "b"].map((text) => part(text));
    for (const each of parts) lane.push(each);
    expect(await outcomes(parts)).toEqual(["rejected", "rejected"]);
  });

  it("does not send what was withdrawn in time", async () => {
    const batches: string[][] = [];
    const lane = new PublishLane(async (records) => void batches.push(textsOf(records)));
    const parts = ["a", "b"].map((text) => part(text));
    for (const each of parts) lane.push(each);
    lane.withdraw(parts[0]!);
    await parts[1]!.done.promise;
    expect(batches).toEqual([["b"]]);
  });

  it("refuses what waits when it closes, and ends when nothing is under way", async () => {
    const gate = Promise.withResolvers<void>();
    const lane = new PublishLane(() => gate.promise);
    const parts = ["a", "b"].map((text) => part(text));
    lane.push(parts[0]!);
    await Promise.resolve();
    await Promise.resolve();
    lane.push(parts[1]!);
    const closed = lane.close(new BusError("closed", "closed"));
    await expect(parts[1]!.done.promise).rejects.toMatchObject({ code: "closed" });
    gate.resolve();
    await closed;
    await expect(parts[0]!.done.promise).resolves.toBeUndefined();
  });
});

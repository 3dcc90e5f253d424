import { expect, it } from "vitest";

import type { KafkaRecord } from "./client.ts";
import { KAFKA_COMPRESSIONS } from "./options.ts";
import { packBatch } from "./pack-batch.ts";
import { splitBatches, unpackBatch } from "./record-batches.ts";

const HEAD = { producer: { id: 7n, epoch: 3 }, sequence: 41, timestampMs: 1_767_225_600_000 };

function record(key: string, value: string | null, headers: Record<string, string> = {}): KafkaRecord {
  return { key: Buffer.from(key), value: value === null ? null : Buffer.from(value), headers };
}

/** Reads the batch as consumers do. The bus contract tests show that brokers accept it. */
async function readBack(records: readonly KafkaRecord[], compression: (typeof KAFKA_COMPRESSIONS)[number]) {
  const batch = await packBatch(records, { ...HEAD, compression });
  const { batches, nextOffset } = splitBatches(batch, 0, []);
  expect(nextOffset).toBe(records.length);
  return batches.flatMap(unpackBatch).map(({ offset, timestampMs, key, value, headers }) => ({
    offset,
    timestampMs,
    key: Buffer.from(key!).toString(),
    value: value === null ? null : Buffer.from(value).toString(),
    headers,
  }));
}

it.each(KAFKA_COMPRESSIONS)("packs by %s what can be read back", async (compression) => {
  const texts = ["", "x", "x".repeat(61), "y".repeat(64), "z".repeat(8190), "w".repeat(200_000)];
  const records = [
    ...texts.map((text, i) => record(`k${i}`, text, { size: String(text.length), naïve: "ünï…" })),
    record("gone", null),
    record("", "no key", { empty: "" }),
  ];
  expect(await readBack(records, compression)).toEqual(
    records.map(({ key, value, headers }, offset) => ({
      offset,
      timestampMs: HEAD.timestampMs,
      key: key.toString(),
      value: value?.toString() ?? null,
      headers,
    })),
  );
});

it("says whose batch it is and how many records it has", async () => {
  const batch = await packBatch([record("a", "1"), record("a", "2")], { ...HEAD, compression: "none" });
  expect(batch.readBigInt64BE(43)).toBe(7n);
  expect(batch.readInt16BE(51)).toBe(3);
  expect(batch.readInt32BE(53)).toBe(41);
  expect(batch.readInt32BE(57)).toBe(2);
});

it.each(KAFKA_COMPRESSIONS)("keeps batches apart that are packed by %s at one time", async (compression) => {
  const all = Array.from({ length: 20 }, (_, i) => [record(`k${i}`, String(i).repeat(10_000))]);
  const back = await Promise.all(all.map((records) => readBack(records, compression)));
  expect(back.map(([only]) => only!.key)).toEqual(all.map((_, i) => `k${i}`));
  expect(back.map(([only]) => only!.value![0])).toEqual(all.map((_, i) => String(i)[0]));
});

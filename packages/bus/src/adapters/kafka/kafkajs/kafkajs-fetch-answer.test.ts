// The answer follows the protocol specification, Fetch version 11.
import { describe, expect, it } from "vitest";

import { readFetchAnswer } from "./kafkajs-fetch-answer.ts";

const int16 = (value: number): Buffer => bytes(2, (into) => into.writeInt16BE(value));
const int32 = (value: number): Buffer => bytes(4, (into) => into.writeInt32BE(value));
const int64 = (value: bigint): Buffer => bytes(8, (into) => into.writeBigInt64BE(value));

function bytes(length: number, write: (into: Buffer) => void): Buffer {
  const into = Buffer.alloc(length);
  write(into);
  return into;
}

function partition(
  number: number,
  errorCode: number,
  batches: string | null,
  aborted: Buffer[] = [],
): Buffer {
  const marks = [int64(50n), int64(49n), int64(2n)];
  const content = batches === null ? [int32(-1)] : [int32(batches.length), Buffer.from(batches)];
  const transactions = [int32(aborted.length === 0 ? -1 : aborted.length), ...aborted];
  return Buffer.concat([int32(number), int16(errorCode), ...marks, ...transactions, int32(-1), ...content]);
}

function answer(...topics: readonly (readonly [string, ...Buffer[]])[]): Buffer {
  const parts = topics.flatMap(([topic, ...partitions]) => [
    int16(topic.length),
    Buffer.from(topic),
    int32(partitions.length),
    ...partitions,
  ]);
  return Buffer.concat([int32(0), int16(0), int32(0), int32(topics.length), ...parts]);
}

describe("reading kafkajs' answers to fetches", () => {
  it("gives each partition of each topic its batches, end and aborted transactions", () => {
    const aborted = [int64(9n), int64(7n)];
    const read = readFetchAnswer(
      answer(
        ["a", partition(3, 0, "batches", [Buffer.concat(aborted)]), partition(4, 0, null)],
        ["b", partition(0, 0, "")],
      ),
    );
    expect(read.map(({ batches, ...rest }) => ({ ...rest, batches: batches.toString() }))).toEqual([
      {
        topic: "a",
        partition: 3,
        errorName: null,
        highWatermark: 50,
        aborted: [{ producerId: 9n, firstOffset: 7 }],
        batches: "batches",
      },
      { topic: "a", partition: 4, errorName: null, highWatermark: 50, aborted: [], batches: "" },
      { topic: "b", partition: 0, errorName: null, highWatermark: 50, aborted: [], batches: "" },
    ]);
  });

  it("leaves a partition's error with the partition, by Kafka's name", () => {
    const read = readFetchAnswer(
      answer(["a", partition(0, 1, null), partition(1, 3, null), partition(2, 0, "x")]),
    );
    expect(read.map(({ errorName }) => errorName)).toEqual([
      "OFFSET_OUT_OF_RANGE",
      "UNKNOWN_TOPIC_OR_PARTITION",
      null,
    ]);
  });
});

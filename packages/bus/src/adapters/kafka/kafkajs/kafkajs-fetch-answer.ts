// Decodes fetch answers (version 11) without unpacking batches. The library's decoder unpacks without limit.
import type { FetchedPartition } from "../client/fetcher.ts";
import { createErrorFromCode } from "./kafkajs-library.ts";
import { Reader } from "../client/record-batches.ts";
import type { Aborted } from "../client/record-batches.ts";

export function readFetchAnswer(answer: Buffer): FetchedPartition[] {
  const reader = new Reader(answer);
  reader.skip(4 + 2 + 4);
  const partitions: FetchedPartition[] = [];
  for (let topics = reader.int32(); topics > 0; topics -= 1) {
    const topic = reader.text(reader.int16());
    for (let count = reader.int32(); count > 0; count -= 1) partitions.push(readPartition(reader, topic));
  }
  return partitions;
}

function readPartition(reader: Reader, topic: string): FetchedPartition {
  const partition = reader.int32();
  const errorCode = reader.int16();
  const highWatermark = reader.int64();
  reader.skip(16);
  const aborted: Aborted[] = [];
  for (let count = reader.int32(); count > 0; count -= 1)
    aborted.push({ producerId: reader.bigInt64(), firstOffset: reader.int64() });
  reader.skip(4);
  const batches = reader.bytes(Math.max(0, reader.int32()));
  const errorName = errorCode === 0 ? null : createErrorFromCode(errorCode).type;
  return { topic, partition, errorName, highWatermark, batches, aborted };
}

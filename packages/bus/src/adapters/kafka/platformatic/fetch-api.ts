import { createAPI, fetchV15 } from "@platformatic/kafka";
import type { Reader } from "@platformatic/kafka";

import type { Aborted } from "../client/record-batches.ts";

interface PartitionAnswer {
  readonly topicId: string;
  readonly partition: number;
  readonly errorCode: number;
  readonly highWatermark: number;
  readonly batches: Buffer;
  readonly aborted: readonly Aborted[];
}

interface FetchAnswer {
  readonly errorCode: number;
  readonly partitions: readonly PartitionAnswer[];
}

const FETCH = 1;
/** Needs brokers from 3.5 on. */
const VERSION = 15;

/** Keeps batches packed and errors per partition. The library's fetch has no limit and fails as a whole. */
export const fetchApi = createAPI<fetchV15.FetchRequest, FetchAnswer>(
  FETCH,
  VERSION,
  fetchV15.createRequest,
  parseAnswer,
);

function parseAnswer(_correlationId: number, _apiKey: number, _version: number, reader: Reader): FetchAnswer {
  reader.readInt32();
  const errorCode = reader.readInt16();
  reader.readInt32();
  const topics = reader.readArray((reader) => {
    const topicId = reader.readUUID();
    return reader.readArray((reader) => readPartition(topicId, reader));
  });
  return { errorCode, partitions: topics.flat() };
}

function readPartition(topicId: string, reader: Reader): PartitionAnswer {
  const partition = reader.readInt32();
  const errorCode = reader.readInt16();
  const highWatermark = Number(reader.readInt64());
  reader.skip(16);
  const aborted = reader.readNullableArray((reader) => ({
    producerId: reader.readInt64(),
    firstOffset: Number(reader.readInt64()),
  }));
  reader.skip(4);
  const size = Math.max(0, reader.readUnsignedVarInt() - 1);
  const batches = reader.buffer.slice(reader.position, reader.position + size);
  reader.skip(size);
  return { topicId, partition, errorCode, highWatermark, batches, aborted: aborted ?? [] };
}

import type { BusRecord, OutgoingRecord, TopicPartition } from "../../../ports/port.ts";
import type { FetchedRecord, KafkaRecord } from "./client.ts";

const RECORD_OVERHEAD_BYTES = 128;
const NOTHING = new Uint8Array(0);

/** An empty value becomes a tombstone. Copies others, since callers may change them after an abort. */
export function toKafka({ key, value, headers }: OutgoingRecord): KafkaRecord {
  const isTombstone = value.byteLength === 0;
  return { key: Buffer.from(key, "utf8"), value: isTombstone ? null : Buffer.from(value), headers };
}

/** Converts any client's record: a missing key becomes the empty key, a tombstone an empty value. */
export function toBus({ topic, partition }: TopicPartition, record: FetchedRecord): BusRecord {
  const { offset, timestampMs, key, value, headers } = record;
  return {
    topic,
    partition,
    offset,
    appendedAtMs: timestampMs,
    key: key === null ? "" : Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString("utf8"),
    value: value ?? NOTHING,
    headers,
  };
}

/** Accounted memory of a record, bytes. */
export function sizeOf(record: KafkaRecord | FetchedRecord): number {
  let bytes = RECORD_OVERHEAD_BYTES + (record.key?.byteLength ?? 0) + (record.value?.byteLength ?? 0);
  const { headers } = record;
  // Avoids an entries array, because this runs per record.
  for (const name in headers) bytes += name.length + (headers[name]?.length ?? 0);
  return bytes;
}

export function byTopic<P extends TopicPartition, T>(
  partitions: readonly P[],
  entry: (partition: P) => T,
): { readonly topic: string; readonly partitions: T[] }[] {
  const topics = new Map<string, T[]>();
  for (const partition of partitions) {
    const entries = topics.get(partition.topic);
    if (entries) entries.push(entry(partition));
    else topics.set(partition.topic, [entry(partition)]);
  }
  return [...topics].map(([topic, entries]) => ({ topic, partitions: entries }));
}

export function partitionKey({ topic, partition }: TopicPartition): string {
  return `${topic}/${partition}`;
}

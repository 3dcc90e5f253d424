import type { BusRecord, OutgoingRecord, TopicPartition } from "../../../ports/port.ts";
import type { FetchedRecord, KafkaRecord } from "./client.ts";

/** What a record costs beside its bytes: length fields, offsets, the object. A round figure. */
const RECORD_OVERHEAD_BYTES = 128;
const NOTHING = new Uint8Array(0);

/**
 * An empty value becomes a tombstone. Copies the others: the caller may change it once publishing was given
 * up, while the library may still be trying.
 */
export function toKafka({ key, value, headers }: OutgoingRecord): KafkaRecord {
  const isTombstone = value.byteLength === 0;
  return { key: Buffer.from(key, "utf8"), value: isTombstone ? null : Buffer.from(value), headers };
}

/** Whatever another client wrote becomes a record: no key is the empty key, a tombstone is an empty value. */
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

/** The memory that a record accounts for. */
export function sizeOf(record: KafkaRecord | FetchedRecord): number {
  let bytes = RECORD_OVERHEAD_BYTES + (record.key?.byteLength ?? 0) + (record.value?.byteLength ?? 0);
  const { headers } = record;
  // No entries array: this runs for every record.
  for (const name in headers) bytes += name.length + (headers[name]?.length ?? 0);
  return bytes;
}

/** As requests want it: a list of topics, each with its partitions. */
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

/** One text per partition, to be the key of a map. */
export function partitionKey({ topic, partition }: TopicPartition): string {
  return `${topic}/${partition}`;
}

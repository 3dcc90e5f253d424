import { BusError } from "../ports/errors.ts";
import { partitionOf } from "../ports/partitioner.ts";
import type { Bus, OutgoingRecord, Publisher, TopicPartition } from "../ports/port.ts";
import { coveredBytes, MAC_HEADER, type MacKey } from "./record-mac.ts";
import { SPEAKER_HEADER } from "./speaker.ts";

/** The key by which one speaker seals. */
export interface RecordKey {
  /** As in the header. */
  readonly speaker: string;
  /** Of the master key that it was derived from: 1 to 65535. */
  readonly keyId: number;
  readonly key: MacKey;
}

/**
 * Gives the key that seals a record; null: the record goes out as it is. Throws a BusError `unavailable`
 * while there is none yet.
 */
type RecordKeySource = (topic: string, record: OutgoingRecord) => RecordKey | null;

/** The record with its speaker and MAC. A speaker and a MAC that it had before are replaced. */
export function sealRecord(
  { speaker, keyId, key }: RecordKey,
  place: TopicPartition,
  record: OutgoingRecord,
): OutgoingRecord {
  const headers: Record<string, string> = { ...record.headers, [SPEAKER_HEADER]: speaker };
  const covered = coveredBytes(place, { key: record.key, value: record.value, headers });
  if (covered === null)
    throw new BusError("rejected", "key and headers of a sealed record must have at most 16384 characters");
  headers[MAC_HEADER] = `${keyId}.${key.seal(covered)}`;
  return { ...record, headers };
}

/**
 * A bus whose published records carry a seal. It is bound to the partition, which follows from the record's
 * key: the number of a topic's partitions must not change while records are being published.
 */
export function sealedBus(bus: Bus, keyOf: RecordKeySource): Bus {
  const publisher = sealedPublisher(bus, keyOf);
  return {
    publish: (topic, records, options) => publisher.publish(topic, records, options),
    partitionCount: (topic) => bus.partitionCount(topic),
    subscribe: (options) => bus.subscribe(options),
    close: () => bus.close(),
  };
}

/** The publisher's side of {@link sealedBus}. */
export function sealedPublisher(
  bus: Pick<Bus, "publish" | "partitionCount">,
  keyOf: RecordKeySource,
): Publisher {
  return {
    async publish(topic, records, options): Promise<void> {
      const keys = records.map((record) => keyOf(topic, record));
      // Also where nothing is sealed: calls must not overtake each other.
      const partitions = await bus.partitionCount(topic);
      const sealed = records.map((record, i) => {
        const key = keys[i] ?? null;
        return key === null
          ? record
          : sealRecord(key, { topic, partition: partitionOf(record.key, partitions) }, record);
      });
      await bus.publish(topic, sealed, options);
    },
  };
}

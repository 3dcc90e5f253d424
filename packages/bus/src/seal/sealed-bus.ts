import { BusError } from "../ports/errors.ts";
import { partitionOf } from "../ports/partitioner.ts";
import type { Bus, OutgoingRecord, Publisher, TopicPartition } from "../ports/port.ts";
import { coveredBytes, MAC_HEADER, type MacKey } from "./record-mac.ts";
import { SPEAKER_HEADER } from "./speaker.ts";

export interface RecordKey {
  readonly speaker: string;
  /** Id of the master key, 1 to 65535. */
  readonly keyId: number;
  readonly key: MacKey;
}

/** Returns the sealing key; null: publish unsealed. Throws BusError `unavailable` without a key. */
type RecordKeySource = (topic: string, record: OutgoingRecord) => RecordKey | null;

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

/** Seals published records for their partition, so the partition count must not change meanwhile. */
export function sealedBus(bus: Bus, keyOf: RecordKeySource): Bus {
  const publisher = sealedPublisher(bus, keyOf);
  return {
    publish: (topic, records, options) => publisher.publish(topic, records, options),
    partitionCount: (topic) => bus.partitionCount(topic),
    subscribe: (options) => bus.subscribe(options),
    close: () => bus.close(),
  };
}

export function sealedPublisher(
  bus: Pick<Bus, "publish" | "partitionCount">,
  keyOf: RecordKeySource,
): Publisher {
  return {
    async publish(topic, records, options): Promise<void> {
      const keys = records.map((record) => keyOf(topic, record));
      // Needed even without a seal: calls must not overtake each other.
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

import type { BusRecord, TopicPartition } from "@isochrone/bus";
import type { Speakers } from "../domain/speakers/speaker.ts";

/** What proves who wrote the records of a bus that others can write to, too. */
export interface RecordProofs {
  /** Resolves when records can be judged; rejects when `signal` is aborted. */
  known(signal: AbortSignal): Promise<void>;
  /** What must still come before. */
  pending(): string[];
  /** Topics of other writers, which are read like those of our own. */
  readonly foreignTopics: readonly string[];
  speakersOf(place: TopicPartition): Speakers;
  /** Whether a replica wrote this record of one of the replicas' own topics. */
  isOwn(record: BusRecord): boolean;
}

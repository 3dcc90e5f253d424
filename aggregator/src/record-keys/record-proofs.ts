import type { BusRecord, TopicPartition } from "@isochrone/bus";
import type { Speakers } from "../domain/speakers/speaker.ts";

export interface RecordProofs {
  /** Resolves when records can be verified; rejects when `signal` is aborted. */
  known(signal: AbortSignal): Promise<void>;
  pending(): string[];
  /** Topics of other writers, read like our own. */
  readonly foreignTopics: readonly string[];
  speakersOf(place: TopicPartition): Speakers;
  isOwn(record: BusRecord): boolean;
}

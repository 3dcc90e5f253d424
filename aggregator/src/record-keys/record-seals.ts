import type { BusRecord, TopicPartition } from "@isochrone/bus";
import { SealChecker, type SealFault } from "@isochrone/bus/seal";
import type { Logger } from "@isochrone/runtime";
import type { Counter } from "prom-client";
import type { ProvenSpeaker, Speakers, SpokenRecord } from "../domain/speakers/speaker.ts";
import { isAggregator, type RecordKeys } from "./record-keys.ts";

type Unproven = SealFault | "wrong_speaker";

interface RecordSealsOptions {
  readonly keys: Pick<RecordKeys, "masters">;
  /** Service names by topic, for writers that cannot seal. The broker's ACLs control who may write. */
  readonly foreignTopics: ReadonlyMap<string, string>;
  readonly logger: Logger;
  readonly unproven: Counter<"topic" | "fault">;
}

const REMEDIES: Readonly<Record<Unproven, string>> = {
  unsealed:
    "its writer must seal (bus.sealRecords), or write to a topic of its own that aggregator.foreignTopics names",
  malformed: "another version wrote it, or somebody else did",
  unknown_key: "its key was retired, or the Secret of aggregator.recordKeysSecret was made anew",
  forged: "somebody without the speaker's key wrote or changed it: see who may write to this topic",
  wrong_speaker: "on this topic somebody else speaks",
};

export class RecordSeals {
  readonly #options: RecordSealsOptions;
  readonly #checker: SealChecker;

  constructor(options: RecordSealsOptions) {
    this.#options = options;
    this.#checker = new SealChecker({ masters: options.keys.masters });
  }

  speakersOf(place: TopicPartition): Speakers {
    const foreign = this.#options.foreignTopics.get(place.topic);
    if (foreign !== undefined) {
      const speaker: ProvenSpeaker = { kind: "service", name: foreign };
      return { speakerOf: () => speaker };
    }
    return { speakerOf: (record) => this.#judge(place, record) };
  }

  /** Returns true if a replica wrote this record of the aggregators' own topics. */
  isOwn(record: BusRecord): boolean {
    const found = this.#checker.check(record, record);
    if (typeof found !== "string" && isAggregator(found)) return true;
    this.#refuse(record, typeof found === "string" ? found : "wrong_speaker");
    return false;
  }

  #judge(place: TopicPartition, record: SpokenRecord): ProvenSpeaker | "refused" {
    const found = this.#checker.check(place, record);
    if (typeof found !== "string" && !isAggregator(found)) return found;
    this.#refuse(place, typeof found === "string" ? found : "wrong_speaker");
    return "refused";
  }

  /** Logs no content of the record, because it may be forged. */
  #refuse({ topic, partition }: TopicPartition, fault: Unproven): void {
    const { logger, unproven } = this.#options;
    unproven.inc({ topic, fault });
    logger.warnOnce(`unproven:${topic}:${fault}`, "a record was refused: its sender is not proven", {
      topic,
      partition,
      fault,
      remedy: REMEDIES[fault],
    });
  }
}

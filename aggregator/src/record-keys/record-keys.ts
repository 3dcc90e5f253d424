import type { Leadership } from "@isochrone/kubernetes";
import { hash } from "node:crypto";
import type { OutgoingRecord } from "@isochrone/bus";
import { AGGREGATOR, MacKey, SPEAKER_HEADER, type MasterKeys, type RecordKey } from "@isochrone/bus/seal";
import { BoundedMap } from "@isochrone/primitives";
import { parseSpeaker, speakerText, type ProvenSpeaker } from "@isochrone/telemetry";
import { pause, type Clock, type Logger, type Service } from "@isochrone/runtime";
import { STATE_TOPICS } from "@isochrone/telemetry";
import { AggregatorError } from "../ports/errors.ts";
import { KeyKeeper } from "../keys/key-keeper.ts";
import type { HmacKeySet, KeyStore } from "../ports/ports.ts";

/** What keeps the keys of records. */
interface RecordKeysOptions {
  readonly store: KeyStore;
  readonly leadership: Leadership;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly randomBytes: (count: number) => Uint8Array;
  /** Age at which a key is replaced; 0 = never. */
  readonly rotationMs: number;
  /** How long what was sealed by a retired key still counts. */
  readonly overlapMs: number;
  /** How often the store is read. */
  readonly checkMs: number;
}

/** A new key settles for so many readings of the store: all replicas have it before anybody seals by it. */
const SETTLE_CHECKS = 6;
const OWN_TOPICS: ReadonlySet<string> = new Set(Object.values(STATE_TOPICS));
/** Speakers whose keys are kept for sealing; the one used longest ago goes. */
const MAX_SEALING = 16_384;
const NO_MASTERS: MasterKeys = new Map();

/**
 * The master keys of records on Kafka: made and replaced by the elected replica, read by all, given to
 * nobody. What publishers get is the key of one speaker, which is derived from the newest master.
 */
export class RecordKeys implements Service {
  readonly #options: RecordKeysOptions;
  readonly #keeper: KeyKeeper;
  #set: HmacKeySet | null = null;
  #masters: MasterKeys = NO_MASTERS;
  /** By which this replica seals, of each speaker: an own key keeps its salt, and what verifies knows it. */
  #sealing = new BoundedMap<RecordKey>(MAX_SEALING);

  constructor(options: RecordKeysOptions) {
    this.#options = options;
    const { rotationMs, overlapMs, checkMs, ...surroundings } = options;
    this.#keeper = new KeyKeeper({
      ...surroundings,
      subject: "record keys",
      rule: {
        rotationMs,
        // Nobody reports: what replicas and publishers need is time.
        confirmMs: 0,
        graceMs: overlapMs,
        settleMs: SETTLE_CHECKS * checkMs,
      },
      checkMs,
      probes: () => [],
    });
  }

  /** Keys that verify, as far as they have been read. */
  get count(): number {
    return this.masters().size;
  }

  /** For metrics. */
  get counts(): KeyKeeper["counts"] {
    return this.#keeper.counts;
  }

  async start(): Promise<void> {
    await this.#keeper.start();
    this.masters();
  }

  async stop(): Promise<void> {
    await this.#keeper.stop();
  }

  /** What must still come before a record can be judged. */
  pending(): string[] {
    return this.count > 0 ? [] : ["waiting for the keys of records"];
  }

  /** Resolves when the keys have been read; rejects when `signal` is aborted. */
  async known(signal: AbortSignal): Promise<void> {
    const { clock, checkMs } = this.#options;
    while (this.count === 0) {
      signal.throwIfAborted();
      await pause(clock, Math.min(checkMs, 1000), signal);
    }
  }

  /**
   * By id; the same map until they change. A Secret that was deleted counts as it was until there is another
   * one.
   */
  readonly masters = (): MasterKeys => {
    const { set } = this.#keeper;
    if (set !== null && set !== this.#set) {
      this.#set = set;
      this.#masters = new Map(set.keys.map(({ id, secret }) => [id, masterOf(secret.reveal())]));
      this.#sealing = new BoundedMap(MAX_SEALING);
    }
    return this.#masters;
  };

  /**
   * The key by which a speaker seals from now on.
   * @throws AggregatorError `keys_not_read` before the store could be read
   */
  keyFor(speaker: ProvenSpeaker): RecordKey {
    const masters = this.masters();
    const keyId = this.#set?.signingKeyId ?? 0;
    const master = masters.get(keyId);
    if (master === undefined)
      throw new AggregatorError("keys_not_read", "the keys of records haven't been read yet");
    const text = speakerText(speaker);
    return { speaker: text, keyId, key: master.derive(text) };
  }

  /**
   * What seals a record of this replica: its own topics by its own key, what was posted to it by the key of
   * the speaker that the ingest has found out. Other records go out as they are, and will be refused.
   */
  readonly sealingKey = (topic: string, { headers }: OutgoingRecord): RecordKey | null => {
    if (OWN_TOPICS.has(topic)) return this.#sealingKeyOf(AGGREGATOR);
    const named = headers[SPEAKER_HEADER];
    const speaker = named === undefined ? null : parseSpeaker(named);
    return speaker === null || isAggregator(speaker) ? null : this.#sealingKeyOf(speaker);
  };

  #sealingKeyOf(speaker: ProvenSpeaker): RecordKey {
    // Forgets the last ones when the keys have changed.
    this.masters();
    const text = speakerText(speaker);
    const kept = this.#sealing.get(text);
    if (kept !== undefined) return kept;
    const made = this.keyFor(speaker);
    this.#sealing.set(text, made);
    return made;
  }
}

/** Whether a speaker is the aggregators themselves, who say nothing on topics that others write to. */
export function isAggregator(speaker: ProvenSpeaker): boolean {
  return speaker.kind === AGGREGATOR.kind && speakerText(speaker) === speakerText(AGGREGATOR);
}

/** A secret that an operator made may have another length. */
function masterOf(base64: string): MacKey {
  return new MacKey(hash("sha256", Buffer.from(base64, "base64"), "buffer"));
}

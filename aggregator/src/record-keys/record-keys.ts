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

interface RecordKeysOptions {
  readonly store: KeyStore;
  readonly leadership: Leadership;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly randomBytes: (count: number) => Uint8Array;
  readonly rotationMs: number;
  /** Time for which records sealed with a retired key remain valid. */
  readonly overlapMs: number;
  readonly checkMs: number;
}

/** Reads for which a new key only verifies, so that all replicas have it before it seals. */
const SETTLE_CHECKS = 6;
const OWN_TOPICS: ReadonlySet<string> = new Set(Object.values(STATE_TOPICS));
/** Limit of cached sealing keys. The least recently used is evicted. */
const MAX_SEALING = 16_384;
const NO_MASTERS: MasterKeys = new Map();

/** Master keys of records on Kafka, never handed out. A publisher gets a key derived from the newest. */
export class RecordKeys implements Service {
  readonly #options: RecordKeysOptions;
  readonly #keeper: KeyKeeper;
  #set: HmacKeySet | null = null;
  #masters: MasterKeys = NO_MASTERS;
  /** Cache by sender: a derived key keeps its salt, and verifiers cache it. */
  #sealing = new BoundedMap<RecordKey>(MAX_SEALING);

  constructor(options: RecordKeysOptions) {
    this.#options = options;
    const { rotationMs, overlapMs, checkMs, ...surroundings } = options;
    this.#keeper = new KeyKeeper({
      ...surroundings,
      subject: "record keys",
      rule: {
        rotationMs,
        // Nobody confirms; replicas and publishers only need time.
        confirmMs: 0,
        graceMs: overlapMs,
        settleMs: SETTLE_CHECKS * checkMs,
      },
      checkMs,
      probes: () => [],
    });
  }

  get count(): number {
    return this.masters().size;
  }

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

  /** Names the inputs that must arrive before records can be verified. */
  pending(): string[] {
    return this.count > 0 ? [] : ["waiting for the keys of records"];
  }

  /** Resolves after the first read of the keys; rejects when `signal` is aborted. */
  async known(signal: AbortSignal): Promise<void> {
    const { clock, checkMs } = this.#options;
    while (this.count === 0) {
      signal.throwIfAborted();
      await pause(clock, Math.min(checkMs, 1000), signal);
    }
  }

  /** The same map until they change. After the Secret's deletion the last keys stay. */
  readonly masters = (): MasterKeys => {
    const { set } = this.#keeper;
    if (set !== null && set !== this.#set) {
      this.#set = set;
      this.#masters = new Map(set.keys.map(({ id, secret }) => [id, masterOf(secret.reveal())]));
      this.#sealing = new BoundedMap(MAX_SEALING);
    }
    return this.#masters;
  };

  /** @throws AggregatorError `keys_not_read` before the first read */
  keyFor(speaker: ProvenSpeaker): RecordKey {
    const masters = this.masters();
    const keyId = this.#set?.signingKeyId ?? 0;
    const master = masters.get(keyId);
    if (master === undefined)
      throw new AggregatorError("keys_not_read", "the keys of records haven't been read yet");
    const text = speakerText(speaker);
    return { speaker: text, keyId, key: master.derive(text) };
  }

  /** This replica's key for its own topics, the proven sender's key for posted records. Null: unsealed. */
  readonly sealingKey = (topic: string, { headers }: OutgoingRecord): RecordKey | null => {
    if (OWN_TOPICS.has(topic)) return this.#sealingKeyOf(AGGREGATOR);
    const named = headers[SPEAKER_HEADER];
    const speaker = named === undefined ? null : parseSpeaker(named);
    return speaker === null || isAggregator(speaker) ? null : this.#sealingKeyOf(speaker);
  };

  #sealingKeyOf(speaker: ProvenSpeaker): RecordKey {
    // Clears the cache if the keys have changed.
    this.masters();
    const text = speakerText(speaker);
    const kept = this.#sealing.get(text);
    if (kept !== undefined) return kept;
    const made = this.keyFor(speaker);
    this.#sealing.set(text, made);
    return made;
  }
}

/** Returns true for the aggregators themselves, which never write to topics of other writers. */
export function isAggregator(speaker: ProvenSpeaker): boolean {
  return speaker.kind === AGGREGATOR.kind && speakerText(speaker) === speakerText(AGGREGATOR);
}

/** An operator's secret may have another length. */
function masterOf(base64: string): MacKey {
  return new MacKey(hash("sha256", Buffer.from(base64, "base64"), "buffer"));
}

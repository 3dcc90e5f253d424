import { parseSpeaker, type ProvenSpeaker } from "@isochrone/telemetry";

import type { OutgoingRecord, TopicPartition } from "../ports/port.ts";
import {
  coveredBytes,
  MAC_HEADER,
  PROOF_CHARACTERS,
  SALT_CHARACTERS,
  type MacKey,
  type SealVerifier,
} from "./record-mac.ts";
import { SPEAKER_HEADER } from "./speaker.ts";

/** Reasons for an unproven record; a metric label. */
const SEAL_FAULTS = [
  /** No speaker or no MAC. */
  "unsealed",
  /** Malformed speaker or MAC, or oversized headers. */
  "malformed",
  /** The key id is retired or never existed. */
  "unknown_key",
  /** The MAC belongs to another record or key. */
  "forged",
] as const;
export type SealFault = (typeof SEAL_FAULTS)[number];

/** Master keys by id; speakers' keys are derived from them. */
export type MasterKeys = ReadonlyMap<number, MacKey>;

interface SealCheckerOptions {
  /** Returns the same map until the keys change. */
  readonly masters: () => MasterKeys;
  /** Maximum cached keys of proven speakers and runs, some hundred bytes each. @default 16384 */
  readonly maxSpeakers?: number;
}

interface Known {
  readonly speaker: ProvenSpeaker;
  readonly verifier: SealVerifier;
}

/** Key id and salt: the constant part of a sealer's MACs in one run. */
const LIFE = new RegExp(`^([1-9]\\d{0,4})\\.([A-Za-z0-9_-]{${SALT_CHARACTERS}})$`);
const DOT = ".".charCodeAt(0);
const DEFAULT_MAX_SPEAKERS = 16_384;

/** Verifies who sealed a record. Caches keys of proven speakers only: invented ones cannot evict them. */
export class SealChecker {
  readonly #options: SealCheckerOptions;
  readonly #maxKnown: number;
  /** Keyed by key id, salt and speaker; evicts the oldest. */
  readonly #known = new Map<string, Known>();
  #masters: MasterKeys | null = null;

  constructor(options: SealCheckerOptions) {
    this.#options = options;
    this.#maxKnown = options.maxSpeakers ?? DEFAULT_MAX_SPEAKERS;
  }

  get knownSpeakers(): number {
    return this.#known.size;
  }

  /** @param place where the record was read; a record copied elsewhere fails */
  check(
    place: TopicPartition,
    record: Pick<OutgoingRecord, "key" | "value" | "headers">,
  ): ProvenSpeaker | SealFault {
    const named = record.headers[SPEAKER_HEADER];
    const seal = record.headers[MAC_HEADER];
    if (named === undefined || seal === undefined) return "unsealed";
    const dot = seal.length - PROOF_CHARACTERS - 1;
    if (seal.charCodeAt(dot) !== DOT) return "malformed";
    const life = seal.slice(0, dot);
    const id = `${life} ${named}`;
    const kept = this.#knownNow().get(id);
    const known = kept ?? this.#derive(life, named);
    if (typeof known === "string") return known;
    const covered = coveredBytes(place, record);
    const isProven = covered === null ? null : known.verifier.proves(seal.slice(dot + 1), covered);
    if (isProven === null) return "malformed";
    if (!isProven) return "forged";
    if (kept === undefined) this.#keep(id, known);
    return known.speaker;
  }

  #derive(life: string, named: string): Known | SealFault {
    const [, keyId, salt] = LIFE.exec(life) ?? [];
    if (keyId === undefined || salt === undefined) return "malformed";
    const master = this.#options.masters().get(Number(keyId));
    if (master === undefined) return "unknown_key";
    const speaker = parseSpeaker(named);
    return speaker === null ? "malformed" : { speaker, verifier: master.derive(named).verifier(salt) };
  }

  /** Clears the cache after a change of the master keys, since a retired key is no longer valid. */
  #knownNow(): ReadonlyMap<string, Known> {
    const masters = this.#options.masters();
    if (masters !== this.#masters) this.#known.clear();
    this.#masters = masters;
    return this.#known;
  }

  #keep(id: string, known: Known): void {
    if (this.#known.size >= this.#maxKnown) this.#known.delete(this.#known.keys().next().value!);
    this.#known.set(id, known);
  }
}

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

/** Why a record is not proven; a metric's label. */
const SEAL_FAULTS = [
  /** It has no speaker or no MAC. */
  "unsealed",
  /** A speaker or a MAC of another form, or headers without end. */
  "malformed",
  /** The key was retired, or there never was one of this id. */
  "unknown_key",
  /** The MAC is of another record, or by another key. */
  "forged",
] as const;
export type SealFault = (typeof SEAL_FAULTS)[number];

/** Keys by id that speakers' keys are derived from. */
export type MasterKeys = ReadonlyMap<number, MacKey>;

/** How a checker is built. */
interface SealCheckerOptions {
  /** The same map until the keys change. */
  readonly masters: () => MasterKeys;
  /** Lives of proven speakers whose keys are kept: some hundred bytes each. @default 16384 */
  readonly maxSpeakers?: number;
}

interface Known {
  readonly speaker: ProvenSpeaker;
  readonly verifier: SealVerifier;
}

/** The part of a MAC that stays the same for all that a sealer seals in its life: key id and salt. */
const LIFE = new RegExp(`^([1-9]\\d{0,4})\\.([A-Za-z0-9_-]{${SALT_CHARACTERS}})$`);
const DOT = ".".charCodeAt(0);
const DEFAULT_MAX_SPEAKERS = 16_384;

/**
 * Says who sealed a record. Keys are kept of proven speakers only, so that invented ones can't push them out.
 */
export class SealChecker {
  readonly #options: SealCheckerOptions;
  readonly #maxKnown: number;
  /** By key id, salt and speaker; the oldest goes when there are too many. */
  readonly #known = new Map<string, Known>();
  #masters: MasterKeys | null = null;

  constructor(options: SealCheckerOptions) {
    this.#options = options;
    this.#maxKnown = options.maxSpeakers ?? DEFAULT_MAX_SPEAKERS;
  }

  /** Keys that are kept. */
  get knownSpeakers(): number {
    return this.#known.size;
  }

  /** @param place where the record was found: a record that was copied elsewhere isn't proven */
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

  /** Empty when a master has changed: the keys of a retired one count no more. */
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

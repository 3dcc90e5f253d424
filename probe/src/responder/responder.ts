import {
  findFault,
  findFormFault,
  isFor,
  isFrom,
  keyIdOf,
  turnIntoResponse,
  type Transport,
} from "../domain/packet.ts";
import type { Random } from "@isochrone/runtime";
import type { Keyring } from "../domain/keyring.ts";
import { FairBudget } from "../domain/fair-budget.ts";
import { RateLimiter } from "../domain/rate-limiter.ts";
import type { EngineConfig, ResponderSnapshot } from "../ports/ports.ts";
import { LeastTime } from "../domain/least-time.ts";
import { KnownFlows } from "./known-flows.ts";
import type { Source } from "./source.ts";

/** Sources whose rate is remembered, and flows whose signature was right. */
const MAX_SOURCES = 4096;
const MAX_FLOWS = 4096;
/** A flow is known for so long after its last valid packet. Milliseconds. */
const FLOW_MEMORY_MS = 300_000;
/** A source may be this many seconds ahead of its rate. */
const BURST_SECONDS = 2;
/**
 * Share of its rate that a source may spend on packets that were seen before: the network doubles some,
 * replays are many.
 */
const REPEAT_SHARE = 0.1;
const MIN_REPEATS = 10;
/**
 * Signatures of flows not known yet that are verified per second, whatever comes: about a third of a core at
 * most. New peers need one each; what a flood takes of this is not taken from known ones.
 */
const STRANGERS_PER_SECOND = 100_000;
/** What may be verified at once after a pause: a tenth of a second's worth, since floods come in bursts. */
const STRANGERS_BURST = 10_000;

interface ResponderDeps {
  readonly config: Pick<EngineConfig, "responderPacketsPerSecond" | "acceptTranslatedSource">;
  readonly keys: Keyring;
  /** This node's identity, 16 bytes. */
  readonly identity: Uint8Array;
  /** Milliseconds, sub-microsecond grain, never backwards. */
  readonly monotonic: () => number;
  /** Chooses whose signature is verified when there are too many. */
  readonly random: Random;
}

/** Decides which packets are answered, whatever carries them, and makes the answers. */
export class Responder {
  readonly #deps: ResponderDeps;
  /**
   * Packets with a right signature, those of them seen before, and attempts of flows that are not known, by
   * source.
   */
  readonly #peers: RateLimiter;
  readonly #repeats: RateLimiter;
  readonly #strangers: RateLimiter;
  readonly #allStrangers: FairBudget;
  readonly #flows = new KnownFlows(MAX_FLOWS, FLOW_MEMORY_MS);
  #answered = 0;
  #refused: Record<string, number> = {};
  readonly #signing = new LeastTime();

  constructor(deps: ResponderDeps) {
    this.#deps = deps;
    const rate = deps.config.responderPacketsPerSecond;
    const repeats = Math.max(MIN_REPEATS, rate * REPEAT_SHARE);
    this.#peers = new RateLimiter(rate, rate * BURST_SECONDS, MAX_SOURCES);
    this.#repeats = new RateLimiter(repeats, repeats * BURST_SECONDS, MAX_SOURCES);
    this.#strangers = new RateLimiter(rate, rate * BURST_SECONDS, MAX_SOURCES);
    const random = (): number => deps.random.next();
    this.#allStrangers = new FairBudget(STRANGERS_PER_SECOND, STRANGERS_BURST, random, deps.monotonic());
  }

  /** Least time that `answer` takes after it wrote the residence. Milliseconds. */
  get signingMs(): number {
    return this.#signing.ms;
  }

  /** Whether the packet names a flow with a recent valid signature: those come first where time is short. */
  isKnown(packet: Buffer, source: Source, atMs: number): boolean {
    return (
      findFormFault(packet, "request", packet[8] === 1 ? "tcp" : "udp") === null &&
      this.#flows.look(packet, source.key, atMs) !== "stranger"
    );
  }

  /** Another number when {@link knownMarks} may be others. */
  get knownRevision(): number {
    return this.#flows.revision;
  }

  /**
   * What tells packets of known flows from all others: the last four bytes of their nonces, the most recent
   * flows'.
   */
  knownMarks(atMost: number): number[] {
    return this.#flows.marks(atMost);
  }

  /** Judges a request received at `atMs`. False: it gets no answer, and why is counted. */
  admit(packet: Buffer, transport: Transport, source: Source, atMs: number): boolean {
    const reason = this.#refusalOf(packet, transport, source, atMs);
    if (reason !== null) this.refuse(reason);
    return reason === null;
  }

  /**
   * Turns an admitted request into its answer, in place. `residenceMs`: from its reception to when the answer
   * will leave.
   */
  answer(packet: Buffer, residenceMs: number): void {
    const beganMs = this.#deps.monotonic();
    turnIntoResponse(packet, residenceMs * 1e6);
    this.#deps.keys.sign(keyIdOf(packet), packet);
    this.#signing.add(this.#deps.monotonic() - beganMs);
    this.#answered++;
  }

  /** Counts something that was turned away. */
  refuse(reason: string, count = 1): void {
    this.#refused[reason] = (this.#refused[reason] ?? 0) + count;
  }

  /** What happened since the call before. */
  drain(): ResponderSnapshot {
    const snapshot = { answered: this.#answered, refused: this.#refused };
    this.#answered = 0;
    this.#refused = {};
    return snapshot;
  }

  /**
   * The cheap checks and the budgets come before the HMAC: the HMAC is what a flood would make us pay for.
   */
  #refusalOf(packet: Buffer, transport: Transport, source: Source, atMs: number): string | null {
    const form = findFormFault(packet, "request", transport);
    if (form !== null) return form;
    if (!isFor(packet, this.#deps.identity)) return "wrong_destination";
    const { acceptTranslatedSource } = this.#deps.config;
    if (!acceptTranslatedSource && !isFrom(packet, source.bytes)) return "wrong_source";
    const { keys } = this.#deps;
    if (!keys.has(keyIdOf(packet))) return "unknown_key";
    const acquaintance = this.#flows.look(packet, source.key, atMs);
    const budget = this.#budgetRefusal(acquaintance, source.key, atMs);
    if (budget !== null) return budget;
    const fault = findFault(packet, "request", transport, keys);
    if (fault !== null) return fault;
    this.#flows.proven(packet, source.key, atMs);
    // A stranger's first valid packet counts against its source's rate like all that follow.
    if (acquaintance === "stranger" && !this.#peers.admit(source.key, atMs)) return "rate_limited";
    return null;
  }

  #budgetRefusal(acquaintance: "stranger" | "fresh" | "repeat", source: string, atMs: number): string | null {
    if (acquaintance === "fresh") return this.#peers.admit(source, atMs) ? null : "rate_limited";
    if (acquaintance === "repeat") return this.#repeats.admit(source, atMs) ? null : "repeated";
    if (!this.#strangers.admit(source, atMs)) return "rate_limited";
    return this.#allStrangers.take(atMs) ? null : "overloaded";
  }
}

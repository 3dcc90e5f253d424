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

const MAX_SOURCES = 4096;
const MAX_FLOWS = 4096;
const FLOW_MEMORY_MS = 300_000;
/** Burst allowance of a source, in seconds of its rate. */
const BURST_SECONDS = 2;
/** Share of a source's rate for repeated packets: the network duplicates some, replays are many. */
const REPEAT_SHARE = 0.1;
const MIN_REPEATS = 10;
/** Signatures of unknown flows verified per second: about a third of a core. Known flows aren't charged. */
const STRANGERS_PER_SECOND = 100_000;
/** Burst allowance after a pause: a tenth of a second's worth, since floods come in bursts. */
const STRANGERS_BURST = 10_000;

interface ResponderDeps {
  readonly config: Pick<EngineConfig, "responderPacketsPerSecond" | "acceptTranslatedSource">;
  readonly keys: Keyring;
  readonly identity: Uint8Array;
  readonly monotonic: () => number;
  /** Selects which signatures to verify under overload. */
  readonly random: Random;
}

export class Responder {
  readonly #deps: ResponderDeps;
  /** Per-source limits on valid packets, on repeated ones, and on unknown flows. */
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

  /** Minimum duration of `answer` after setting the residence. Milliseconds. */
  get signingMs(): number {
    return this.#signing.ms;
  }

  /** Whether the packet names a known flow: these have priority under overload. */
  isKnown(packet: Buffer, source: Source, atMs: number): boolean {
    return (
      findFormFault(packet, "request", packet[8] === 1 ? "tcp" : "udp") === null &&
      this.#flows.look(packet, source.key, atMs) !== "stranger"
    );
  }

  get knownRevision(): number {
    return this.#flows.revision;
  }

  /** Identifies packets of known flows: the last four nonce bytes of the most recent flows. */
  knownMarks(atMost: number): number[] {
    return this.#flows.marks(atMost);
  }

  /** Judges a request received at `atMs`. Returns false, with the reason counted, if it gets no answer. */
  admit(packet: Buffer, transport: Transport, source: Source, atMs: number): boolean {
    const reason = this.#refusalOf(packet, transport, source, atMs);
    if (reason !== null) this.refuse(reason);
    return reason === null;
  }

  /** Works in place. `residenceMs`: from reception until the answer will leave. */
  answer(packet: Buffer, residenceMs: number): void {
    const beganMs = this.#deps.monotonic();
    turnIntoResponse(packet, residenceMs * 1e6);
    this.#deps.keys.sign(keyIdOf(packet), packet);
    this.#signing.add(this.#deps.monotonic() - beganMs);
    this.#answered++;
  }

  refuse(reason: string, count = 1): void {
    this.#refused[reason] = (this.#refused[reason] ?? 0) + count;
  }

  drain(): ResponderSnapshot {
    const snapshot = { answered: this.#answered, refused: this.#refused };
    this.#answered = 0;
    this.#refused = {};
    return snapshot;
  }

  /** Cheap checks and budgets precede the HMAC, which is the cost a flood aims for. */
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
    // A stranger's first valid packet counts against its source's rate.
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

import {
  findFault,
  findFormFault,
  isFor,
  isFrom,
  keyIdOf,
  turnIntoResponse,
  type Transport,
} from "../domain/packet.ts";
import { parseAddress } from "../domain/ip.ts";
import type { Keyring } from "../domain/keyring.ts";
import { RateLimiter } from "../domain/rate-limiter.ts";
import type { EngineConfig, ResponderSnapshot } from "../ports.ts";

/** Sources whose rate is remembered. */
const MAX_SOURCES = 4096;
/** A source may be this many seconds ahead of its rate. */
const BURST_SECONDS = 2;
/** Weight of the newest signing time in the running mean. */
const SIGNING_WEIGHT = 0.05;

export interface ResponderDeps {
  readonly config: EngineConfig;
  readonly keys: Keyring;
  readonly identity: Uint8Array;
  monotonic(): number;
}

/** Decides which packets are answered, whatever carries them, and makes the answers. */
export class Responder {
  readonly #deps: ResponderDeps;
  readonly #limiter: RateLimiter;
  #answered = 0;
  #refused: Record<string, number> = {};
  /** How long signing takes: it happens after the residence is written, so it is added as a running mean. */
  #signingMs = 0;

  constructor(deps: ResponderDeps) {
    this.#deps = deps;
    const rate = deps.config.responderPacketsPerSecond;
    this.#limiter = new RateLimiter(rate, rate * BURST_SECONDS, MAX_SOURCES);
  }

  /** Turns a request received at `atMs` into its answer, in place. False: it gets none, and why is counted. */
  answer(packet: Buffer, transport: Transport, sourceAddress: string, atMs: number): boolean {
    const reason = this.#refusalOf(packet, transport, sourceAddress, atMs);
    if (reason !== null) {
      this.refuse(reason);
      return false;
    }
    const readyMs = this.#deps.monotonic();
    turnIntoResponse(packet, (readyMs - atMs + this.#signingMs) * 1e6);
    this.#deps.keys.sign(keyIdOf(packet), packet);
    this.#signingMs += (this.#deps.monotonic() - readyMs - this.#signingMs) * SIGNING_WEIGHT;
    this.#answered++;
    return true;
  }

  /** Counts something that was turned away. */
  refuse(reason: string): void {
    this.#refused[reason] = (this.#refused[reason] ?? 0) + 1;
  }

  take(): ResponderSnapshot {
    const snapshot = { answered: this.#answered, refused: this.#refused };
    this.#answered = 0;
    this.#refused = {};
    return snapshot;
  }

  /** The rate is checked before the HMAC: the HMAC is what a flood would make us pay for. */
  #refusalOf(packet: Buffer, transport: Transport, sourceAddress: string, atMs: number): string | null {
    const form = findFormFault(packet, "request", transport);
    if (form !== null) return form;
    if (!this.#limiter.admit(sourceAddress, atMs)) return "rate_limited";
    const fault = findFault(packet, "request", transport, this.#deps.keys);
    if (fault !== null) return fault;
    if (!isFor(packet, this.#deps.identity)) return "wrong_destination";
    if (this.#deps.config.acceptTranslatedSource) return null;
    const observed = parseAddress(sourceAddress);
    return observed !== null && isFrom(packet, observed) ? null : "wrong_source";
  }
}

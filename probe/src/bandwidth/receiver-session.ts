import { ArrivalCondenser, lastDelayNs, type ArrivalBin } from "./arrivals.ts";
import type { Connection } from "./connection.ts";
import { MESSAGE, writeBins, writeReason, type OpenRequest, type Refusal } from "./wire.ts";

const MS = 1e6;
const BIN_AGE_NS = 2 * MS;
/**
 * Reports are batched up to these bounds: each one costs the tested path an acknowledgement. Exception: a
 * delay that has just grown means that the link is filling up, and is reported at once.
 */
const REPORT_BYTES = 16_384;
const REPORT_NS = 10 * MS;
const GROWN_NS = 1 * MS;
const DRAIN_NS = 300 * MS;
/** Counted bytes are payload. Only a sender that exceeds its declared bytes is cut off. */
const BYTES_SLACK = 1.02;
const MAX_BINS = 1000;

export class ReceiverSession {
  readonly connection: Connection;
  readonly request: OpenRequest;
  readonly token: Buffer;
  readonly #condenser = new ArrivalCondenser();
  readonly #endNs: number;
  readonly #pending: ArrivalBin[] = [];
  #reportedDelayNs = Number.POSITIVE_INFINITY;
  #reportedBytes = 0;
  #reportedNs = 0;
  #bytes = 0;
  #sequence = -1;
  #finishSequence = -1;
  #finishNs = Number.NaN;

  constructor(connection: Connection, request: OpenRequest, token: Buffer, nowNs: number) {
    this.connection = connection;
    this.request = request;
    this.token = token;
    this.#endNs = nowNs + request.maxMs * MS;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(sequence: number, sendNs: number, arrivalNs: number, bytes: number, overflowed: number): void {
    this.#bytes += bytes;
    this.#sequence = Math.max(this.#sequence, sequence);
    this.#condenser.add(sequence, sendNs, arrivalNs, bytes, overflowed);
  }

  finish(lastSequence: number, nowNs: number): void {
    if (!Number.isNaN(this.#finishNs)) return;
    this.#finishSequence = lastSequence;
    this.#finishNs = nowNs;
  }

  /** Sends due reports. Non-null: the test is over, with the reason. */
  turn(nowNs: number): Refusal | null {
    const isWhole = !Number.isNaN(this.#finishNs) && this.#sequence >= this.#finishSequence;
    const isOver = isWhole || nowNs - this.#finishNs > DRAIN_NS;
    this.#condenser.closeOlderThan(isOver ? Number.POSITIVE_INFINITY : nowNs - BIN_AGE_NS);
    this.#pending.push(...this.#condenser.drain());
    const bins = isOver || this.#isDue(nowNs) ? this.#pending.splice(0) : [];
    if (bins.length > 0) this.#reported(bins, nowNs);
    for (let from = 0; from < bins.length; from += MAX_BINS) {
      if (!this.connection.send(writeBins(bins.slice(from, from + MAX_BINS)))) return "closing";
    }
    if (isOver) return "finished";
    if (this.#bytes > this.request.maxBytes * BYTES_SLACK) return "too_many_bytes";
    return nowNs > this.#endNs ? "too_long" : null;
  }

  #isDue(nowNs: number): boolean {
    const last = this.#pending.at(-1);
    if (last === undefined) return false;
    const hasGrown = lastDelayNs(last) - this.#reportedDelayNs > GROWN_NS;
    return (
      hasGrown || this.#bytes - this.#reportedBytes >= REPORT_BYTES || nowNs - this.#reportedNs >= REPORT_NS
    );
  }

  #reported(bins: readonly ArrivalBin[], nowNs: number): void {
    this.#reportedDelayNs = lastDelayNs(bins.at(-1)!);
    this.#reportedBytes = this.#bytes;
    this.#reportedNs = nowNs;
  }

  end(reason: Refusal): void {
    this.connection.send(writeReason(MESSAGE.end, reason));
  }
}

import type { PointLoad } from "../../scenario/model.ts";
import { MAX_PENDING, periodMs, phasesMs, REQUEST_TIMEOUT_MS } from "../users.ts";

const OPEN = -1;
const FAILED = -2;

export class Requests {
  readonly #periodMs: number;
  readonly #phasesMs: Float64Array;
  /** Number of the oldest retained request. */
  #base = 0;
  #sent = 0;
  #sentMs = new Float64Array(4096);
  #outcomeMs = new Float64Array(4096);
  #pending = 0;
  /** All earlier requests are answered or timed out. */
  #firstInTime = 0;
  #windowEndMs = 0;
  #openInWindow = 0;
  nextMs: number;

  constructor(load: PointLoad, seed: number) {
    this.#periodMs = periodMs(load);
    this.#phasesMs = phasesMs(load, seed);
    this.nextMs = this.#phasesMs[0] ?? Infinity;
  }

  get sent(): number {
    return this.#sent;
  }

  get openInWindow(): number {
    return this.#openInWindow;
  }

  /** Starts an interval. It includes requests sent since the last one's end. */
  openWindow(endMs: number): void {
    this.#windowEndMs = endMs;
    this.#openInWindow = 0;
    for (let at = 0; at < this.#sent - this.#base; at++)
      if (this.#sentMs[at]! < endMs && this.#outcomeMs[at] === OPEN) this.#openInWindow++;
  }

  /** Sends the request due at {@link nextMs}. Returns its number; -1: it failed at once. */
  send(): number {
    const nowMs = this.nextMs;
    const request = this.#sent++;
    const at = request - this.#base;
    if (at === this.#sentMs.length) this.#grow();
    const users = this.#phasesMs.length;
    this.nextMs = this.#phasesMs[this.#sent % users]! + Math.floor(this.#sent / users) * this.#periodMs;
    this.#sentMs[at] = nowMs;
    this.#outcomeMs[at] = OPEN;
    if (nowMs < this.#windowEndMs) this.#openInWindow++;
    this.#pending++;
    this.#giveUp(nowMs);
    if (this.#pending <= MAX_PENDING) return request;
    this.#settle(at, FAILED);
    return -1;
  }

  /** Records an answer; ignores late ones. */
  answered(request: number, failed: boolean, nowMs: number): void {
    const at = request - this.#base;
    if (at < 0 || this.#outcomeMs[at] !== OPEN) return;
    const responseMs = nowMs - this.#sentMs[at]!;
    this.#settle(at, failed || responseMs > REQUEST_TIMEOUT_MS ? FAILED : responseMs);
  }

  /** Returns and clears the interval's outcomes, once all requests are settled. */
  closeWindow(): { readonly responseMs: Float64Array; readonly failed: number } {
    let count = 0;
    while (count < this.#sent - this.#base && this.#sentMs[count]! < this.#windowEndMs) count++;
    const outcomes = this.#outcomeMs.subarray(0, count);
    const responseMs = outcomes.filter((outcome) => outcome >= 0);
    this.#sentMs.copyWithin(0, count, this.#sent - this.#base);
    this.#outcomeMs.copyWithin(0, count, this.#sent - this.#base);
    this.#base += count;
    return { responseMs, failed: count - responseMs.length };
  }

  /** All timeouts are equal, so requests time out in send order. */
  #giveUp(nowMs: number): void {
    for (this.#firstInTime = Math.max(this.#firstInTime, this.#base); ; this.#firstInTime++) {
      const at = this.#firstInTime - this.#base;
      if (this.#sentMs[at]! + REQUEST_TIMEOUT_MS > nowMs || this.#firstInTime >= this.#sent) return;
      if (this.#outcomeMs[at] === OPEN) this.#settle(at, FAILED);
    }
  }

  #settle(at: number, outcome: number): void {
    this.#outcomeMs[at] = outcome;
    this.#pending--;
    if (this.#sentMs[at]! < this.#windowEndMs) this.#openInWindow--;
  }

  #grow(): void {
    const wider = (column: Float64Array): Float64Array<ArrayBuffer> => {
      const next = new Float64Array(column.length * 2);
      next.set(column);
      return next;
    };
    this.#sentMs = wider(this.#sentMs);
    this.#outcomeMs = wider(this.#outcomeMs);
  }
}

import { Tally } from "../domain/tally.ts";
import { Transactions } from "../domain/transactions.ts";
import type { FlowSnapshot } from "../ports.ts";

/** Transactions that a flow remembers beyond those that can wait at once. */
const REMEMBERED = 64;

export interface EchoFlowOptions {
  readonly node: string;
  readonly target: string;
  readonly intervalMs: number;
  readonly timeoutMs: number;
  readonly warmupPackets: number;
}

/** ICMP echoes to one address on a fixed schedule with a random phase. */
export class EchoFlow {
  readonly target: string;
  readonly #options: EchoFlowOptions;
  readonly #transactions: Transactions;
  readonly #tally = new Tally();
  #dueMs: number;
  #warmup: number;
  #kernelStamped = 0;
  #userStamped = 0;

  constructor(options: EchoFlowOptions, startMs: number, phase: number) {
    this.target = options.target;
    this.#options = options;
    this.#dueMs = startMs + phase * options.intervalMs;
    this.#warmup = options.warmupPackets;
    const waiting = 2 * Math.ceil(options.timeoutMs / options.intervalMs) + REMEMBERED;
    this.#transactions = new Transactions(options.timeoutMs, 2 ** Math.ceil(Math.log2(waiting)));
  }

  get dueMs(): number {
    return this.#dueMs;
  }

  get waiting(): number {
    return this.#transactions.waiting;
  }

  /** Whether all timed samples since the last `take` carried the kernel's stamps; null without a sample. */
  get stampedBy(): "kernel" | "user" | null {
    if (this.#kernelStamped + this.#userStamped === 0) return null;
    return this.#userStamped === 0 ? "kernel" : "user";
  }

  /** Moves on to the next planned time after `nowMs`; ticks that passed unused are counted, not made up for. */
  advance(nowMs: number): void {
    const missed = Math.floor((nowMs - this.#dueMs) / this.#options.intervalMs);
    this.#tally.skip("missed_tick", missed);
    this.#dueMs += (missed + 1) * this.#options.intervalMs;
  }

  /** Returns the flow's own number of the packet. */
  sent(sentMs: number): number {
    const sequence = this.#transactions.nextSequence;
    this.#tally.count("sent");
    const pushedOut = this.#transactions.sent(sentMs);
    if (pushedOut > 0) this.#tally.countError("lost", "timeout", pushedOut);
    return sequence;
  }

  sendFailed(reason: string): void {
    this.#tally.countError("send_error", reason);
  }

  corrupt(reason: string): void {
    this.#tally.countError("corrupt", reason);
  }

  /** A reply read at `atMs`. `kernelMs` is the round trip by the kernel's stamps; null where one is missing. */
  reply(sequence: number, atMs: number, kernelMs: number | null): void {
    const settlement = this.#transactions.settle(sequence, atMs);
    switch (settlement.kind) {
      case "received":
        this.#tally.count("received");
        this.#record(atMs - settlement.sentMs, kernelMs);
        return;
      case "late_first":
        this.#tally.countError("lost", "timeout");
        this.#tally.count("late");
        return;
      case "late":
      case "duplicate":
        this.#tally.count(settlement.kind);
        return;
      case "unknown":
        this.corrupt("unknown_sequence");
        return;
      default:
        settlement satisfies never;
    }
  }

  expire(nowMs: number): void {
    const lost = this.#transactions.expire(nowMs);
    if (lost > 0) this.#tally.countError("lost", "timeout", lost);
  }

  take(): FlowSnapshot {
    this.#kernelStamped = 0;
    this.#userStamped = 0;
    return this.#tally.take({ node: this.#options.node, method: "icmp", ipFamily: 4 });
  }

  /** The kernel's clock may step: its round trip counts only if it lies within what this thread saw on the monotonic clock. */
  #record(userMs: number, kernelMs: number | null): void {
    if (this.#warmup > 0) {
      this.#warmup--;
      this.#tally.discard("warmup");
      return;
    }
    const trusted = kernelMs !== null && kernelMs >= 0 && kernelMs <= userMs;
    if (trusted) this.#kernelStamped++;
    else this.#userStamped++;
    this.#tally.record((trusted ? kernelMs : userMs) / 1000);
  }
}

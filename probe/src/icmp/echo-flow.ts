import { Tally } from "../domain/tally.ts";
import { Transactions } from "../domain/transactions.ts";
import type { FlowSnapshot } from "../ports/ports.ts";
import type { EchoRoute, EchoTarget, ReceivedEcho } from "./echo-port.ts";

/** Transactions remembered beyond those that can wait at once. */
const REMEMBERED = 12;

export interface EchoFlowOptions extends EchoTarget {
  readonly node: string;
  readonly intervalMs: number;
  readonly timeoutMs: number;
  readonly warmupPackets: number;
}

/** ICMP echoes to one address on a fixed schedule with a random phase. */
export class EchoFlow {
  readonly options: EchoFlowOptions;
  readonly route: EchoRoute;
  readonly remembered: number;
  active = true;
  readonly #transactions: Transactions;
  readonly #tally = new Tally();
  #dueMs: number;
  #warmup: number;
  readonly #reasons: string[] = [];
  #stamped = { kernel: 0, user: 0 };

  constructor(options: EchoFlowOptions, route: EchoRoute, firstMs: number) {
    this.options = options;
    this.route = route;
    this.#dueMs = firstMs;
    this.#warmup = options.warmupPackets;
    const waiting = 2 * Math.ceil(options.timeoutMs / options.intervalMs) + REMEMBERED;
    this.remembered = 2 ** Math.ceil(Math.log2(waiting));
    this.#transactions = new Transactions(options.timeoutMs, this.remembered);
  }

  get dueMs(): number {
    return this.#dueMs;
  }

  get nextMs(): number {
    return Math.min(this.#dueMs, this.#transactions.nextDeadlineMs() ?? Number.POSITIVE_INFINITY);
  }

  get waiting(): number {
    return this.#transactions.waiting;
  }

  /** "kernel" only if all samples since the last `take` had kernel stamps; null without samples. */
  get stampedBy(): "kernel" | "user" | null {
    if (this.#stamped.user > 0) return "user";
    return this.#stamped.kernel > 0 ? "kernel" : null;
  }

  /** Advances to the next planned time after `nowMs`. Missed ticks are counted, not made up for. */
  advance(nowMs: number): void {
    const missed = Math.floor((nowMs - this.#dueMs) / this.options.intervalMs);
    this.#tally.skip("missed_tick", missed);
    this.#dueMs += (missed + 1) * this.options.intervalMs;
  }

  sent(sentMs: number): number {
    const sequence = this.#transactions.nextSequence;
    this.#tally.count("sent");
    const pushedOut = this.#transactions.sent(sentMs);
    if (pushedOut > 0) this.#lose(pushedOut);
    return sequence;
  }

  refused(reason: string): void {
    this.#tally.countError("send_error", reason);
  }

  corrupt(reason: string): void {
    this.#tally.countError("corrupt", reason);
  }

  /** Stores an ICMP error as the reason for a waiting packet's later loss. */
  unreachable(reason: string): void {
    if (this.#reasons.length < this.#transactions.waiting) this.#reasons.push(reason);
    else this.#tally.note(reason);
  }

  /** `stampsMs`: round trip by the port's stamps, NaN if untrusted; `stampedBy`: their source. */
  reply(
    sequence: number,
    atMs: number,
    echo: ReceivedEcho,
    stampsMs: number,
    stampedBy: "kernel" | "user",
  ): void {
    const settlement = this.#transactions.settle(sequence, atMs);
    switch (settlement.kind) {
      case "received":
        this.#tally.count("received");
        if (echo.hops >= 0) this.#tally.passed(echo.hops);
        this.#record(atMs - settlement.sentMs, stampsMs, stampedBy);
        return;
      case "late_first":
        this.#lose(1);
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
    if (lost > 0) this.#lose(lost);
  }

  drain(): FlowSnapshot {
    this.#stamped = { kernel: 0, user: 0 };
    const { node, family } = this.options;
    return this.#tally.drain({ node, method: "icmp", ipFamily: family });
  }

  #lose(count: number): void {
    const named = this.#reasons.splice(0, count);
    for (const reason of named) this.#tally.countError("lost", reason);
    if (count > named.length) this.#tally.countError("lost", "timeout", count - named.length);
  }

  /** The kernel's clock may step: its round trip counts only within the monotonic interval. */
  #record(userMs: number, stampsMs: number, stampedBy: "kernel" | "user"): void {
    if (this.#warmup > 0) {
      this.#warmup--;
      this.#tally.discard("warmup");
      return;
    }
    const trusted = stampsMs >= 0 && stampsMs <= userMs;
    const by = trusted ? stampedBy : "user";
    this.#stamped[by]++;
    this.#tally.countStamp(by);
    this.#tally.record((trusted ? stampsMs : userMs) / 1000);
  }
}

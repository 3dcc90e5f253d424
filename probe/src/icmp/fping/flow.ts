import { Tally } from "../../domain/tally.ts";
import type { FlowSnapshot } from "../../ports/ports.ts";
import type { EchoFlowOptions } from "../echo-flow.ts";
import type { FpingLine } from "./output.ts";

/** Packets that are remembered by index, for repeated lines. */
const REMEMBERED = 1024;
/** How long after its timeout fping may take to say what became of a packet. Milliseconds. */
const GRACE_MS = 1000;

type Fate = "received" | "lost" | "late" | "elsewhere";

/**
 * How long fping itself waits for replies: longer than we do, so that late ones are seen as such.
 * Milliseconds.
 */
export function fpingTimeoutMs(timeoutMs: number): number {
  return Math.min(2 * timeoutMs, timeoutMs + 2000);
}

/**
 * What became of the packets to one target, by fping's lines. A packet counts as sent when fping says what
 * became of it: it says nothing of packets that it couldn't send, so what is missing from the count of a
 * target's packets was a send error.
 */
export class FpingFlow {
  readonly options: EchoFlowOptions;
  readonly #tally = new Tally();
  /** By index; an index that is missing below `#settled` was a send error or is forgotten. */
  #fates = new Map<number, Fate>();
  /** Answered by somebody else only: fping waits no more. Index -> when we give up too. */
  readonly #elsewhere = new Map<number, number>();
  /** All packets before this index are counted. */
  #settled = 0;
  /** When the packet with index 0 was sent, as well as can be told; NaN: fping doesn't run. */
  #firstMs = Number.NaN;
  /** When fping died; NaN: it runs, or hasn't run yet. */
  #endedMs = Number.NaN;
  #warmup: number;
  #reasons: string[] = [];

  constructor(options: EchoFlowOptions) {
    this.options = options;
    this.#warmup = options.warmupPackets;
  }

  /** A new fping counts from 0, beginning at `nowMs`. */
  started(nowMs: number): void {
    for (const index of this.#elsewhere.keys()) this.#lose(index, false);
    this.#fates.clear();
    this.#settled = 0;
    this.#firstMs = nowMs;
    this.#reasons = [];
    if (!Number.isNaN(this.#endedMs)) {
      this.#tally.skip("missed_tick", Math.floor((nowMs - this.#endedMs) / this.options.intervalMs));
    }
    this.#endedMs = Number.NaN;
  }

  /** What was under way isn't counted: nobody knows whether it was sent. */
  ended(nowMs: number): void {
    this.#firstMs = Number.NaN;
    this.#endedMs = nowMs;
  }

  hear(line: FpingLine, nowMs: number): void {
    if (line.kind === "reply") this.#adjust(nowMs - line.rttMs, line.index);
    switch (line.kind) {
      case "reply":
        this.#reply(line, nowMs);
        return;
      case "timeout":
        if (this.#fates.has(line.index)) return;
        this.#lose(line.index);
        return;
      case "icmp_error":
        if (this.#reasons.length < REMEMBERED) this.#reasons.push(line.reason);
        return;
      default:
        line satisfies never;
    }
  }

  /** Counts what fping has kept silent about for too long. */
  sweep(nowMs: number): void {
    for (const [index, untilMs] of this.#elsewhere) {
      if (untilMs <= nowMs) this.#lose(index, false);
    }
    const { intervalMs, timeoutMs } = this.options;
    const patienceMs = fpingTimeoutMs(timeoutMs) + intervalMs + GRACE_MS;
    const decided = Math.floor((nowMs - patienceMs - this.#firstMs) / intervalMs);
    for (; this.#settled < decided; this.#settled++) {
      if (!this.#fates.has(this.#settled)) this.#tally.countError("send_error", "not_sent_by_fping");
      this.#fates.delete(this.#settled - REMEMBERED);
    }
  }

  take(): FlowSnapshot {
    const { node, family } = this.options;
    return this.#tally.take({ node, method: "icmp", ipFamily: family });
  }

  /** An fping that can't keep its schedule is late with every packet from then on. */
  #adjust(sentMs: number, index: number): void {
    this.#firstMs = Math.max(this.#firstMs, sentMs - index * this.options.intervalMs);
  }

  #reply(line: Extract<FpingLine, { kind: "reply" }>, nowMs: number): void {
    const { index, rttMs, source, payloadBytes } = line;
    const fate = this.#fates.get(index);
    if (source !== null) {
      this.#elsewhereAnswered(index, fate, nowMs);
      return;
    }
    if (fate === undefined && index < this.#settled) return;
    if (fate === "received" || fate === "late") {
      this.#tally.count("duplicate");
      return;
    }
    if (payloadBytes !== this.options.payloadBytes) this.#tally.countError("corrupt", "bad_length");
    if (fate === undefined) this.#tally.count("sent");
    this.#elsewhere.delete(index);
    if (fate === "lost" || rttMs > this.options.timeoutMs) {
      if (fate !== "lost") this.#tally.countError("lost", "timeout");
      this.#tally.count("late");
      this.#fates.set(index, "late");
      return;
    }
    this.#fates.set(index, "received");
    this.#tally.count("received");
    this.#record(rttMs);
  }

  #elsewhereAnswered(index: number, fate: Fate | undefined, nowMs: number): void {
    this.#tally.countError("corrupt", "wrong_source");
    if (fate !== undefined || index < this.#settled) return;
    this.#tally.count("sent");
    this.#fates.set(index, "elsewhere");
    this.#elsewhere.set(index, nowMs + this.options.timeoutMs);
  }

  #lose(index: number, isNew = true): void {
    if (isNew && index < this.#settled) return;
    if (isNew) this.#tally.count("sent");
    this.#elsewhere.delete(index);
    this.#fates.set(index, "lost");
    this.#tally.countError("lost", this.#reasons.shift() ?? "timeout");
  }

  #record(rttMs: number): void {
    if (this.#warmup > 0) {
      this.#warmup--;
      this.#tally.discard("warmup");
      return;
    }
    this.#tally.countStamp("user");
    this.#tally.record(rttMs / 1000);
  }
}

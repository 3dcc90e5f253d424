import { Distribution, OUTCOMES, type Method, type Outcome } from "@isochrone/telemetry";
import { recordOf } from "@isochrone/primitives";
import type { DiscardReason, FlowSnapshot } from "../ports/ports.ts";

export class Tally {
  #outcomes = noOutcomes();
  #errors: Record<string, number> = {};
  #discards: Partial<Record<DiscardReason, number>> = {};
  #rtt = new Distribution();
  #application = new Distribution();
  #planned = new Distribution();
  #stamps = { kernel: 0, user: 0 };
  #renewals = 0;
  /** Kept across snapshots: paths rarely change. */
  #hops: number | null = null;
  #variationSeconds = 0;
  #variationCount = 0;
  /** Kept across snapshots: a pane's first sample is compared with the previous pane's last. */
  #lastRttSeconds: number | null = null;

  count(outcome: Outcome, times = 1): void {
    this.#outcomes[outcome] += times;
  }

  countError(outcome: "lost" | "corrupt" | "send_error", reason: string, times = 1): void {
    this.#outcomes[outcome] += times;
    this.#errors[reason] = (this.#errors[reason] ?? 0) + times;
  }

  /** Counts an error that decides no packet's outcome, such as an ICMP error reported by a socket. */
  note(reason: string): void {
    this.#errors[reason] = (this.#errors[reason] ?? 0) + 1;
  }

  record(rttSeconds: number): void {
    this.#rtt.record(rttSeconds);
    if (this.#lastRttSeconds !== null) {
      this.#variationSeconds += Math.abs(rttSeconds - this.#lastRttSeconds);
      this.#variationCount++;
    }
    this.#lastRttSeconds = rttSeconds;
  }

  countStamp(by: "kernel" | "user"): void {
    this.#stamps[by]++;
  }

  /** Records application round-trip times, seconds: from the send, and from the planned send. */
  recordApplication(fromSendSeconds: number, fromPlannedSeconds: number): void {
    this.#application.record(fromSendSeconds);
    this.#planned.record(fromPlannedSeconds);
  }

  renewed(): void {
    this.#renewals++;
  }

  passed(hops: number): void {
    this.#hops = hops;
  }

  discard(reason: DiscardReason): void {
    this.#outcomes.discarded++;
    this.#discards[reason] = (this.#discards[reason] ?? 0) + 1;
  }

  /** Counts planned sends that were left out; they have no outcome. */
  skip(reason: DiscardReason, ticks = 1): void {
    if (ticks > 0) this.#discards[reason] = (this.#discards[reason] ?? 0) + ticks;
  }

  drain(head: { readonly node: string; readonly method: Method; readonly ipFamily: 4 | 6 }): FlowSnapshot {
    const snapshot: FlowSnapshot = {
      ...head,
      outcomes: this.#outcomes,
      errors: this.#errors,
      discards: this.#discards,
      variationSeconds: this.#variationSeconds,
      variationCount: this.#variationCount,
      rtt: this.#rtt.toData(),
      application: this.#application.toData(),
      planned: this.#planned.toData(),
      stamps: this.#stamps,
      renewals: this.#renewals,
      hops: this.#hops,
    };
    this.#outcomes = noOutcomes();
    this.#errors = {};
    this.#discards = {};
    this.#rtt = new Distribution();
    this.#application = new Distribution();
    this.#planned = new Distribution();
    this.#stamps = { kernel: 0, user: 0 };
    this.#renewals = 0;
    this.#variationSeconds = 0;
    this.#variationCount = 0;
    return snapshot;
  }
}

export function noOutcomes(): Record<Outcome, number> {
  return recordOf(OUTCOMES, () => 0);
}

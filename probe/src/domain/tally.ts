import { Distribution, OUTCOMES, type Method, type Outcome } from "@isochrone/telemetry";
import { recordOf } from "@isochrone/primitives";
import type { DiscardReason, FlowSnapshot } from "../ports/ports.ts";

/** Counts what became of one flow's packets between two snapshots. */
export class Tally {
  #outcomes = noOutcomes();
  #errors: Record<string, number> = {};
  #discards: Partial<Record<DiscardReason, number>> = {};
  #rtt = new Distribution();
  #application = new Distribution();
  #planned = new Distribution();
  #stamps = { kernel: 0, user: 0 };
  #renewals = 0;
  /** Kept over snapshots: a path changes seldom. */
  #hops: number | null = null;
  #variationSeconds = 0;
  #variationCount = 0;
  /** Kept over snapshots: the first sample of a pane differs from the last of the pane before. */
  #lastRttSeconds: number | null = null;

  count(outcome: Outcome, times = 1): void {
    this.#outcomes[outcome] += times;
  }

  /** An outcome with a reason: why it was lost, corrupt or not sent. */
  countError(outcome: "lost" | "corrupt" | "send_error", reason: string, times = 1): void {
    this.#outcomes[outcome] += times;
    this.#errors[reason] = (this.#errors[reason] ?? 0) + times;
  }

  /** Something that went wrong without deciding a packet's fate, e.g. an ICMP error that a socket reports. */
  note(reason: string): void {
    this.#errors[reason] = (this.#errors[reason] ?? 0) + 1;
  }

  /** A trusted round-trip time of a received packet. */
  record(rttSeconds: number): void {
    this.#rtt.record(rttSeconds);
    if (this.#lastRttSeconds !== null) {
      this.#variationSeconds += Math.abs(rttSeconds - this.#lastRttSeconds);
      this.#variationCount++;
    }
    this.#lastRttSeconds = rttSeconds;
  }

  /** Whose clock the latest sample's time came from. */
  countStamp(by: "kernel" | "user"): void {
    this.#stamps[by]++;
  }

  /**
   * What a program would have seen of a received packet: from the send, and from the planned send; seconds.
   */
  recordApplication(fromSendSeconds: number, fromPlannedSeconds: number): void {
    this.#application.record(fromSendSeconds);
    this.#planned.record(fromPlannedSeconds);
  }

  /** A socket that lost everything was replaced. */
  renewed(): void {
    this.#renewals++;
  }

  /** Routers that the newest reply passed. */
  passed(hops: number): void {
    this.#hops = hops;
  }

  /** A received packet whose time can't be trusted. */
  discard(reason: DiscardReason): void {
    this.#outcomes.discarded++;
    this.#discards[reason] = (this.#discards[reason] ?? 0) + 1;
  }

  /** Planned sends that were left out; they never were packets, so no outcome counts them. */
  skip(reason: DiscardReason, ticks = 1): void {
    if (ticks > 0) this.#discards[reason] = (this.#discards[reason] ?? 0) + ticks;
  }

  /** Everything since the last call. */
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

/** Zero for every outcome. */
export function noOutcomes(): Record<Outcome, number> {
  return recordOf(OUTCOMES, () => 0);
}

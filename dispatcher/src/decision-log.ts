import { TokenBucket } from "@isochrone/primitives";
import type { Clock } from "@isochrone/runtime";
import type { DeadlineSource } from "./domain/deadline-left.ts";
import type { Outcome, Policy, RefusalReason } from "./ports/ports.ts";

export interface DispatchRecord {
  at: string;
  readonly service: string;
  readonly policy: Policy | null;
  readonly leftMs: number | null;
  readonly deadlineFrom: DeadlineSource | null;
  readonly workMs: number | null;
  readonly endpoints: number;
  readonly tries: readonly Try[];
  outcome: Outcome;
  reason: RefusalReason | null;
  status: number | null;
  tookMs: number | null;
}

export interface Try {
  readonly endpoint: string;
  readonly node: string | null;
  readonly zone: string | null;
  /** Probability of being in time; null if not weighed. */
  readonly inTime: number | null;
  readonly waitMs: number;
  readonly roundTripMs: number;
  readonly inFlight: number;
  readonly failureShare: number;
  readonly fault: string | null;
}

const MAX_RECORDS = 500;
const RATE = { perSecond: 10, burst: 50 };

export class DecisionLog {
  readonly #clock: Clock;
  readonly #bucket: TokenBucket;
  #records: DispatchRecord[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#bucket = new TokenBucket(RATE, clock.monotonic());
  }

  takes(): boolean {
    return this.#bucket.take(this.#clock.monotonic());
  }

  add(record: Omit<DispatchRecord, "at">): void {
    this.#records.push({ ...record, at: new Date(this.#clock.now()).toISOString() });
    if (this.#records.length > 2 * MAX_RECORDS) this.#records = this.#records.slice(-MAX_RECORDS);
  }

  list(service: string | null, limit: number): DispatchRecord[] {
    const found = this.#records.filter((record) => service === null || record.service === service);
    return found.toReversed().slice(0, Math.min(limit, MAX_RECORDS));
  }
}

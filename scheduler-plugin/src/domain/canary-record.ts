// Judges from the last canaries whether pods that request the managed resource get scheduled.

export type CanaryOutcome = string | null;

export interface Injectable {
  readonly injectable: boolean;
  readonly reason: string | null;
  readonly scheduledInARow: number;
  readonly lastScheduledMs: number | null;
}

interface CanaryRule {
  readonly resource: string;
  /** Consecutive successes needed. */
  readonly required: number;
  /** Age limit of a success: the guard itself may be stuck. */
  readonly maxAgeMs: number;
}

export class CanaryRecord {
  readonly #rule: CanaryRule;
  #inARow = 0;
  #lastScheduled: { readonly wallMs: number; readonly monotonicMs: number } | null = null;
  #lastFailure: string | null = null;

  constructor(rule: CanaryRule) {
    this.#rule = rule;
  }

  add(outcome: CanaryOutcome, nowMs: number, monotonicMs: number): void {
    if (outcome !== null) {
      this.#inARow = 0;
      this.#lastFailure = outcome;
      return;
    }
    this.#inARow++;
    this.#lastFailure = null;
    this.#lastScheduled = { wallMs: nowMs, monotonicMs };
  }

  /** One failure closes: a pod that stays pending is worse than a pod that isn't scored. */
  state(monotonicMs: number): Injectable {
    const reason = this.#objection(monotonicMs);
    return {
      injectable: reason === null,
      reason,
      scheduledInARow: this.#inARow,
      lastScheduledMs: this.#lastScheduled?.wallMs ?? null,
    };
  }

  #objection(monotonicMs: number): string | null {
    const { resource, required, maxAgeMs } = this.#rule;
    if (this.#lastFailure !== null) return this.#lastFailure;
    if (this.#lastScheduled === null) return `no canary that requests ${resource} was scheduled yet`;
    const ageMs = monotonicMs - this.#lastScheduled.monotonicMs;
    if (ageMs > maxAgeMs)
      return `the last canary that requests ${resource} was scheduled ${Math.round(ageMs / 1000)} s ago, more than ${Math.round(maxAgeMs / 1000)} s`;
    if (this.#inARow < required)
      return `${this.#inARow} of ${required} canaries in a row that request ${resource} were scheduled`;
    return null;
  }
}

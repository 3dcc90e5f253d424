// Whether pods that request the managed resource get scheduled, from how the last canaries fared.

/** How a canary fared: null when it was scheduled, else why it wasn't. */
export type CanaryOutcome = string | null;

/** The answer to "may the resource be injected into pods". */
export interface Injectable {
  readonly injectable: boolean;
  /** Why not; null when it may. */
  readonly reason: string | null;
  /** Canaries scheduled one after the other, up to now. */
  readonly scheduledInARow: number;
  /** Wall clock milliseconds; null = never. */
  readonly lastScheduledMs: number | null;
}

interface CanaryRule {
  readonly resource: string;
  /** So many canaries in a row must have been scheduled. */
  readonly required: number;
  /** A success is no longer believed after so long, milliseconds: the guard itself may be stuck. */
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

  /**
   * One failure is enough to close: a pod too many that pends costs more than a pod that is scored by nobody.
   */
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

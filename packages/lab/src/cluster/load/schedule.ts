import type { LoadPlan } from "./protocol.ts";

export class Schedule {
  readonly #plan: Pick<LoadPlan, "phasesMs" | "periodMs">;
  #begunMs: number;
  #pace: number;
  #taken = 0;

  constructor(plan: Pick<LoadPlan, "phasesMs" | "periodMs">, nowMs: number, pace = 1) {
    this.#plan = plan;
    this.#begunMs = nowMs;
    this.#pace = pace;
  }

  get nextMs(): number {
    const { phasesMs, periodMs } = this.#plan;
    const round = Math.floor(this.#taken / phasesMs.length);
    const inRoundMs = phasesMs[this.#taken % phasesMs.length]!;
    return this.#begunMs + this.#pace * (round * periodMs + inRoundMs);
  }

  take(): number {
    const dueMs = this.nextMs;
    this.#taken++;
    return dueMs;
  }

  /** Multiplies the time between requests. The next request keeps its time and starts a round. */
  setPace(factor: number): void {
    this.#begunMs = this.nextMs - factor * this.#plan.phasesMs[0]!;
    this.#taken = 0;
    this.#pace = factor;
  }
}

// Counts the outcomes of moves, and stops the descheduler if they don't help. A move that misses its target
// counts at once. A proposal (single move, group or larger move) ends when no pod of its workflow is under
// way.
import { judged, longestPauseMs, NO_REGRET, proposalEnded, regretOf } from "@isochrone/placement";
import type { FailedMove, Halt, JudgedMove, RegretState } from "@isochrone/placement";
import type { Logger } from "@isochrone/runtime";
import type { DeschedulerMetrics } from "./decision/metrics.ts";
import type { DeschedulerConfig } from "./decision/settings.ts";
import type { OpenProposal } from "./term-memory.ts";

interface VerdictsOptions {
  readonly config: Pick<DeschedulerConfig, "mode" | "maxRegret" | "regretMoves" | "regretPauseMs">;
  readonly metrics: Pick<DeschedulerMetrics, "regret" | "stopped">;
  readonly logger: Logger;
  readonly onStop: (halt: Halt) => void;
}

const MAX_JUDGED = 10;

export class Verdicts {
  readonly #options: VerdictsOptions;
  #state: RegretState = NO_REGRET;
  /** Keyed by workflow (namespace/name): whether a move of the open proposal has failed. */
  readonly #open = new Map<string, boolean>();

  constructor(options: VerdictsOptions) {
    this.#options = options;
  }

  get state(): RegretState {
    return this.#state;
  }

  get open(): readonly OpenProposal[] {
    return [...this.#open].map(([workflow, hasFailed]) => ({ workflow, hasFailed }));
  }

  get regret(): number {
    return regretOf(this.#state.judged);
  }

  restore(state: RegretState, open: readonly OpenProposal[], nowMs: number): void {
    // That leader's clock may have been ahead: cap the stop at the longest pause.
    const latestMs = nowMs + longestPauseMs(this.#rules.pauseMs);
    this.#state = { ...state, stoppedUntilMs: Math.min(state.stoppedUntilMs, latestMs) };
    for (const { workflow, hasFailed } of open) this.#open.set(workflow, hasFailed);
    this.#options.metrics.regret.set(this.regret);
  }

  shift(stepMs: number): void {
    const { judged: moves, stoppedUntilMs } = this.#state;
    this.#state = {
      ...this.#state,
      judged: moves.map((move) => ({ ...move, atMs: move.atMs + stepMs })),
      stoppedUntilMs: stoppedUntilMs === 0 ? 0 : stoppedUntilMs + stepMs,
    };
  }

  isStopped(nowMs: number): boolean {
    return this.#state.stoppedUntilMs > nowMs;
  }

  /** Ends the stop on request, and resets all counts. */
  resume(): void {
    this.#state = NO_REGRET;
    this.#options.metrics.regret.set(0);
    this.#options.logger.info("the descheduler resumes: its Lease has the annotation for it");
  }

  halt(nowMs: number): Halt | null {
    const { stoppedBy, stoppedUntilMs } = this.#state;
    if (!this.isStopped(nowMs)) return null;
    const why = stoppedBy ?? {
      reason: "regret",
      detail: "earlier moves didn't gain what they were made for",
    };
    return { reason: why.reason, detail: `${why.detail}; stopped until ${iso(stoppedUntilMs)}` };
  }

  begun(workflow: string): void {
    if (!this.#open.has(workflow)) this.#open.set(workflow, false);
  }

  failed(move: FailedMove, nowMs: number): void {
    // The paper's descheduler learns nothing from its moves.
    if (this.#options.config.mode === "paper") return;
    const isFirst = this.#open.get(move.workflow) !== true;
    this.#open.set(move.workflow, true);
    this.#judge(move, nowMs);
    if (isFirst) this.#change(proposalEnded(this.#state, move, this.#rules, nowMs), nowMs);
  }

  measured(move: JudgedMove, nowMs: number): void {
    if (this.#options.config.mode === "paper")
      this.#change({ ...NO_REGRET, judged: [...this.#state.judged, move].slice(-MAX_JUDGED) }, nowMs);
    else this.#judge(move, nowMs);
  }

  /** Call at the end of a run. @param isUnderWay whether moves of that workflow are under way */
  settle(isUnderWay: (workflow: string) => boolean, nowMs: number): void {
    for (const [workflow, hasFailed] of this.#open) {
      if (isUnderWay(workflow)) continue;
      this.#open.delete(workflow);
      if (!hasFailed) this.#change(proposalEnded(this.#state, null, this.#rules, nowMs), nowMs);
    }
    this.#options.metrics.stopped.set(this.isStopped(nowMs) ? 1 : 0);
  }

  get #rules() {
    const { maxRegret, regretMoves: minJudged, regretPauseMs: pauseMs } = this.#options.config;
    return { maxRegret, minJudged, maxJudged: MAX_JUDGED, pauseMs };
  }

  #judge(move: JudgedMove, nowMs: number): void {
    const all = [...this.#state.judged, move].slice(-MAX_JUDGED);
    this.#options.metrics.regret.set(regretOf(all));
    this.#change(judged(this.#state, move, this.#rules, nowMs), nowMs);
  }

  #change(state: RegretState, nowMs: number): void {
    const before = this.#state.stoppedUntilMs;
    this.#state = state;
    const halt = state.stoppedUntilMs > before ? this.halt(nowMs) : null;
    if (halt !== null) this.#options.onStop(halt);
    this.#options.metrics.stopped.set(this.isStopped(nowMs) ? 1 : 0);
  }
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

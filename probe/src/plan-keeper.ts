import type { JsonFile, Clock, Logger } from "@isochrone/runtime";
import { parsePlan, type PlanRules } from "./domain/plan.ts";
import { PlanRefusedError, PlanSourceBusyError } from "./ports/errors.ts";
import type { PlanSource, ProbeKeyState, ProbePlan } from "./ports/ports.ts";

interface PlanKeeperDeps {
  readonly source: PlanSource;
  readonly cache: JsonFile;
  readonly rules: PlanRules;
  keyState(): ProbeKeyState;
  readonly clock: Clock;
  readonly logger: Logger;
  onPlan(plan: ProbePlan): void;
  onRefused(reason: string): void;
  onUnreachable(): void;
}

/** Keeps the plan from its source, or from disk until it answers. An invalid plan changes nothing. */
export class PlanKeeper {
  readonly #deps: PlanKeeperDeps;
  #plan: ProbePlan | null = null;
  #etag: string | null = null;
  #confirmedMs: number | null = null;

  constructor(deps: PlanKeeperDeps) {
    this.#deps = deps;
  }

  get plan(): ProbePlan | null {
    return this.#plan;
  }

  /** Seconds since the source last confirmed the plan; null: never (no plan, or one from disk). */
  get ageSeconds(): number | null {
    return this.#confirmedMs === null ? null : (this.#deps.clock.monotonic() - this.#confirmedMs) / 1000;
  }

  async restore(): Promise<void> {
    try {
      const cached = await this.#deps.cache.read();
      if (cached !== null && this.#plan === null) this.#accept(parsePlan(cached, this.#deps.rules));
    } catch (error) {
      if (error instanceof PlanRefusedError) this.#deps.onRefused(error.reason);
      this.#deps.logger.warn("cached probe plan not usable", { error });
    }
  }

  /** Fetches once; resolves with the minimum time until the next fetch, ms. Never rejects, unless aborted. */
  async refresh(signal: AbortSignal): Promise<number> {
    try {
      const answer = await this.#deps.source.fetch(this.#etag, this.#deps.keyState(), signal);
      if (answer.kind === "plan") {
        const plan = parsePlan(answer.body, this.#deps.rules);
        const changed = plan.version !== this.#plan?.version;
        this.#accept(plan);
        this.#etag = answer.etag;
        if (changed) await this.#store(plan);
      }
      this.#confirmedMs = this.#deps.clock.monotonic();
    } catch (error) {
      signal.throwIfAborted();
      this.#report(error);
      return error instanceof PlanSourceBusyError ? error.retryAfterMs : 0;
    }
    return 0;
  }

  #accept(plan: ProbePlan): void {
    this.#plan = plan;
    this.#deps.onPlan(plan);
  }

  async #store(plan: ProbePlan): Promise<void> {
    try {
      await this.#deps.cache.write(plan);
    } catch (error) {
      this.#deps.logger.warnOnce("plan-cache-write", "probe plan not cached", { error });
    }
  }

  #report(error: unknown): void {
    if (error instanceof PlanRefusedError) {
      this.#deps.onRefused(error.reason);
      this.#deps.logger.warnOnce(`plan-refused:${error.reason}`, "probe plan refused", {
        error,
        reason: error.reason,
      });
      return;
    }
    this.#deps.onUnreachable();
    this.#deps.logger.warnOnce("plan-unreachable", "probe plan source not reachable", {
      error,
      planInForce: this.#plan !== null,
    });
  }
}

import { delayMs, type BackoffDelays, type Random } from "@isochrone/runtime";
import { fairFirst } from "./fair-share.ts";
import type { SkipReason } from "./metrics.ts";
import type { Target } from "./ports/ports.ts";

interface ScrapePlanOptions {
  readonly intervalMs: number;
  readonly maxBackoffRounds: number;
  readonly maxTargets: number;
  readonly random: Random;
}

/** After this many rounds without a whole page, another page stands in. */
export const STAND_IN_AFTER = 3;

/** "incomplete": read, but lacking something. */
export type ScrapeOutcome = "whole" | "incomplete" | "failed";

interface Standing {
  failures: number;
  /** Consecutive scrapes that failed or were incomplete. */
  missed: number;
  up: boolean | null;
  lastBegunMs: number;
  dueMs: number;
}

interface Skipped {
  readonly target: Target;
  readonly reason: SkipReason;
}

/** Orders pages: longest wait first, failed ones last; FairQueue arbitrates namespaces. Monotonic times. */
export class ScrapePlan {
  readonly #options: ScrapePlanOptions;
  readonly #backoff: BackoffDelays;
  readonly #standings = new Map<string, Standing>();

  constructor(options: ScrapePlanOptions) {
    const { intervalMs, maxBackoffRounds } = options;
    this.#options = options;
    this.#backoff = {
      initialMs: intervalMs,
      maxMs: intervalMs * maxBackoffRounds,
      factor: 2,
      jitterRatio: 0.25,
    };
  }

  /** Splits targets into due and skipped ones. Forgets targets that are gone. */
  round(targets: readonly Target[], nowMs: number): { readonly due: Target[]; readonly skipped: Skipped[] } {
    const { wanted, skipped } = this.#wanted(targets);
    const known = new Set(wanted.map(({ instance }) => instance));
    for (const instance of this.#standings.keys()) if (!known.has(instance)) this.#standings.delete(instance);
    const due: Target[] = [];
    for (const target of wanted) {
      if (this.#standsBy(target)) continue;
      const { dueMs, failures } = this.#standing(target);
      if (dueMs - this.#options.intervalMs / 2 <= nowMs) due.push(target);
      else if (failures > 0) skipped.push({ target, reason: "backoff" });
    }
    return { due: due.sort((a, b) => this.#compare(a, b)), skipped };
  }

  /** A failed page is retried in the next round, then with growing pauses. Incomplete pages: as usual. */
  ended(target: Target, begunMs: number, outcome: ScrapeOutcome): void {
    const standing = this.#standing(target);
    const ok = outcome !== "failed";
    standing.missed = outcome === "whole" ? 0 : standing.missed + 1;
    standing.failures = ok ? 0 : standing.failures + 1;
    standing.up = ok;
    standing.lastBegunMs = begunMs;
    const backoffMs =
      standing.failures < 2 ? 0 : delayMs(this.#backoff, standing.failures, this.#options.random);
    standing.dueMs = begunMs + Math.max(this.#options.intervalMs, backoffMs);
  }

  isUp({ instance }: Target): boolean | null {
    return this.#standings.get(instance)?.up ?? null;
  }

  isIncomplete({ instance }: Target): boolean {
    const standing = this.#standings.get(instance);
    return standing?.up === true && standing.missed > 0;
  }

  #wanted(targets: readonly Target[]): { wanted: Target[]; skipped: Skipped[] } {
    const named = new Map<string, Target>();
    const skipped: Skipped[] = [];
    for (const target of targets) {
      if (named.has(target.instance)) skipped.push({ target, reason: "duplicate" });
      else named.set(target.instance, target);
    }
    const wanted = fairFirst([...named.values()], this.#options.maxTargets);
    const first = new Set(wanted);
    for (const target of named.values())
      if (!first.has(target)) skipped.push({ target, reason: "too_many_targets" });
    return { wanted, skipped };
  }

  #standsBy({ standsInFor }: Target): boolean {
    if (standsInFor === undefined) return false;
    return (this.#standings.get(standsInFor)?.missed ?? 0) < STAND_IN_AFTER;
  }

  #standing({ instance }: Target): Standing {
    let standing = this.#standings.get(instance);
    if (standing === undefined)
      this.#standings.set(
        instance,
        (standing = { failures: 0, missed: 0, up: null, lastBegunMs: -Infinity, dueMs: -Infinity }),
      );
    return standing;
  }

  #compare(a: Target, b: Target): number {
    const first = this.#standing(a);
    const second = this.#standing(b);
    if (first.failures > 0 !== second.failures > 0) return first.failures > 0 ? 1 : -1;
    return first.lastBegunMs === second.lastBegunMs ? 0 : first.lastBegunMs - second.lastBegunMs;
  }
}

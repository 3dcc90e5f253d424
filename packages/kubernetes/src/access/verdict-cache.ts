import { withDeadline, type Clock } from "@isochrone/runtime";
import { isStoreError } from "../store/errors.ts";
import type { ApiServerState } from "./api-server-state.ts";
import { BoundedMap } from "@isochrone/primitives";

export type Verdict<T> = { readonly granted: T; readonly endsMs?: number } | { readonly denied: string };

export type Outcome<T> =
  | { readonly kind: "granted"; readonly value: T }
  | { readonly kind: "denied"; readonly reason: string }
  | { readonly kind: "throttled" }
  | { readonly kind: "unavailable" };

interface VerdictCacheOptions {
  readonly clock: Clock;
  readonly state: ApiServerState;
  readonly name: string;
  /** Lifetime of a grant, counted from the start of its review. */
  readonly grantedMs: number;
  /** Lifetime of a grant while the API server doesn't answer; at least `grantedMs`. */
  readonly outageMs: number;
  readonly deniedMs: number;
  readonly maxGranted: number;
  readonly maxDenied: number;
  readonly maxReviews: number;
  readonly reviewTimeoutMs: number;
  readonly onReview: (result: "granted" | "denied" | "failed", error?: unknown) => void;
}

interface Question<T> {
  readonly key: string;
  /** Detects an invalid question locally. Null: none found. */
  readonly mistake?: () => string | null;
  readonly admit: (nowMs: number) => boolean;
  readonly ask: () => Promise<Verdict<T>>;
}

interface Grant<T> {
  readonly value: T;
  readonly askedMs: number;
  readonly endsMs: number;
}

/**
 * From this share of a grant's lifetime on it is renewed in the background, so that steady clients never
 * wait.
 */
const RENEW_SHARE = 0.75;

/**
 * Concurrent questions share a review. Denials are stored separately, so that strangers can't evict known
 * clients.
 */
export class VerdictCache<T> {
  readonly #options: VerdictCacheOptions;
  readonly #granted: BoundedMap<Grant<T>>;
  readonly #denied: BoundedMap<{ readonly reason: string; readonly untilMs: number }>;
  readonly #underWay = new Map<string, Promise<Outcome<T>>>();

  constructor(options: VerdictCacheOptions) {
    this.#options = options;
    this.#granted = new BoundedMap(options.maxGranted);
    this.#denied = new BoundedMap(options.maxDenied);
  }

  get size(): number {
    return this.#granted.size;
  }

  /** Answers a question, synchronously if cached. Never rejects. */
  judge(question: Question<T>): Outcome<T> | Promise<Outcome<T>> {
    const { clock, grantedMs } = this.#options;
    const nowMs = clock.monotonic();
    const grant = this.#granted.get(question.key);
    if (grant === undefined || nowMs >= grant.endsMs) return this.#judgeUnknown(question, nowMs);
    const ageMs = nowMs - grant.askedMs;
    if (ageMs >= grantedMs) return this.#judgeStale(question, grant);
    if (ageMs >= RENEW_SHARE * grantedMs) void this.#review(question);
    return { kind: "granted", value: grant.value };
  }

  #judgeUnknown(question: Question<T>, nowMs: number): Outcome<T> | Promise<Outcome<T>> {
    const denied = this.#denied.get(question.key);
    if (denied !== undefined && nowMs < denied.untilMs) return { kind: "denied", reason: denied.reason };
    const mistake = question.mistake?.() ?? null;
    if (mistake !== null) return { kind: "denied", reason: mistake };
    // Joining a pending review is free.
    if (!this.#underWay.has(question.key) && !question.admit(nowMs)) return { kind: "throttled" };
    return this.#review(question);
  }

  async #judgeStale(question: Question<T>, grant: Grant<T>): Promise<Outcome<T>> {
    const outcome = await this.#review(question);
    if (outcome.kind !== "unavailable") return outcome;
    const nowMs = this.#options.clock.monotonic();
    const isBridged = nowMs < Math.min(grant.askedMs + this.#options.outageMs, grant.endsMs);
    return isBridged ? { kind: "granted", value: grant.value } : outcome;
  }

  #review(question: Question<T>): Promise<Outcome<T>> {
    const { state, maxReviews } = this.#options;
    const underWay = this.#underWay.get(question.key);
    if (underWay !== undefined) return underWay;
    if (this.#underWay.size >= maxReviews) return Promise.resolve({ kind: "throttled" });
    if (!state.mayAsk()) return Promise.resolve({ kind: "unavailable" });
    const review = this.#ask(question).finally(() => this.#underWay.delete(question.key));
    this.#underWay.set(question.key, review);
    return review;
  }

  async #ask({ key, ask }: Question<T>): Promise<Outcome<T>> {
    const { clock, state, name, reviewTimeoutMs, onReview } = this.#options;
    const askedMs = clock.monotonic();
    try {
      const verdict = await withDeadline(clock, reviewTimeoutMs, `the review of ${name}`, ask);
      return this.#take(key, verdict, askedMs);
    } catch (error) {
      // A caller can provoke this answer; it must not count as an outage.
      if (isStoreError(error, "invalid")) return this.#take(key, { denied: error.message }, askedMs);
      state.failed();
      onReview("failed", error);
      return { kind: "unavailable" };
    }
  }

  #take(key: string, verdict: Verdict<T>, askedMs: number): Outcome<T> {
    const { state, deniedMs, onReview } = this.#options;
    state.answered();
    if ("denied" in verdict) {
      this.#granted.delete(key);
      this.#denied.set(key, { reason: verdict.denied, untilMs: askedMs + deniedMs });
      onReview("denied");
      return { kind: "denied", reason: verdict.denied };
    }
    const { granted: value, endsMs = Number.POSITIVE_INFINITY } = verdict;
    this.#granted.set(key, { value, askedMs, endsMs });
    this.#denied.delete(key);
    onReview("granted");
    return { kind: "granted", value };
  }
}

import { withDeadline, type Clock } from "@isochrone/runtime";
import { isStoreError } from "../store/errors.ts";
import type { ApiServerState } from "./api-server-state.ts";
import { BoundedMap } from "@isochrone/primitives";

/** What the API server says. A grant may have an end of its own, on the monotonic clock. */
export type Verdict<T> = { readonly granted: T; readonly endsMs?: number } | { readonly denied: string };

/** What is known of a question. */
export type Outcome<T> =
  | { readonly kind: "granted"; readonly value: T }
  | { readonly kind: "denied"; readonly reason: string }
  /** Too many unknown questions. */
  | { readonly kind: "throttled" }
  /** The API server gives no answer. */
  | { readonly kind: "unavailable" };

/** How verdicts are kept. */
interface VerdictCacheOptions {
  readonly clock: Clock;
  readonly state: ApiServerState;
  /** Label of metrics and messages. */
  readonly name: string;
  /** How long a grant holds, from when its review was asked for. */
  readonly grantedMs: number;
  /** How long, while the API server gives no answer; at least `grantedMs`. */
  readonly outageMs: number;
  readonly deniedMs: number;
  readonly maxGranted: number;
  readonly maxDenied: number;
  /** Reviews under way at one time. */
  readonly maxReviews: number;
  readonly reviewTimeoutMs: number;
  /** Hears of each review. */
  readonly onReview: (result: "granted" | "denied" | "failed", error?: unknown) => void;
}

/** A question that may have to be asked. */
interface Question<T> {
  readonly key: string;
  /** What is wrong with it, as far as that shows without asking anybody; null: nothing. */
  readonly mistake?: () => string | null;
  /** Whether a review of what is not known yet may be asked for now. */
  readonly admit: (nowMs: number) => boolean;
  readonly ask: () => Promise<Verdict<T>>;
}

interface Grant<T> {
  readonly value: T;
  readonly askedMs: number;
  readonly endsMs: number;
}

/**
 * From this part of a grant's time on it is reviewed again beside the request, so that steady clients never
 * wait.
 */
const RENEW_SHARE = 0.75;

/**
 * Verdicts by key. Concurrent questions of one key share a review; grants and denials are kept apart, so that
 * strangers can't push out whom we know.
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

  /** Grants kept. */
  get size(): number {
    return this.#granted.size;
  }

  /** At once when the answer is known. Never rejects. */
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
    // A question that waits for its answer already costs nothing more.
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

  /** Never rejects. */
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
      // An answer too, and one that a sender can provoke: it must not count as an API server that is away.
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

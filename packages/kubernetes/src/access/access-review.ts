import { hash } from "node:crypto";
import type { Clock, Logger } from "@isochrone/runtime";
import type { Principal } from "@isochrone/runtime/http";
import type { ClusterStore } from "../store/port.ts";
import { ApiServerState } from "./api-server-state.ts";
import { ReviewRate } from "./rate-limit.ts";
import { reviewAccess, reviewToken, type Account } from "./reviews.ts";
import { readClaims } from "./token-claims.ts";
import { VerdictCache, type Outcome, type Verdict } from "./verdict-cache.ts";

export interface AccessReviewOptions {
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * Required audience. Tokens for the API server alone are rejected, so none can be stolen here for use
   * there.
   */
  readonly audience: string;
  /** Lifetime of a granted review: at most a minute, so that a deleted account loses access within that. */
  readonly cacheMs: number;
  /** Lifetime of a granted review while the API server is unreachable; never beyond the token's expiry. */
  readonly outageMs: number;
  readonly reviewsPerSecond: number;
  readonly maxTokens: number;
  readonly onReview?: (subject: ReviewSubject, result: "granted" | "denied" | "failed") => void;
}

export type ReviewSubject = "token" | "access";

export interface AccessRequest {
  readonly token: string;
  /** For nonResourceURLs: the method in lower case. */
  readonly verb: string;
  /** Requested path. Null: it doesn't exist, which any authenticated caller may learn. */
  readonly path: string | null;
  readonly remoteAddress: string;
}

export type AccessDecision =
  | ({ readonly kind: "allowed" } & Principal)
  | { readonly kind: "unauthenticated"; readonly detail: string }
  | { readonly kind: "forbidden"; readonly user: string; readonly detail: string }
  | { readonly kind: "throttled" | "unavailable"; readonly detail: string };

const DENIED_MS = 10_000;
const MAX_DENIED = 4_096;
const MAX_ACCESSES = 10_000;
const MAX_REVIEWS = 256;
const REVIEW_TIMEOUT_MS = 5_000;
const MAX_PATH_CHARACTERS = 1_024;

export class AccessReview {
  readonly #options: AccessReviewOptions;
  readonly #rate: ReviewRate;
  readonly #tokens: VerdictCache<Account>;
  readonly #accesses: VerdictCache<true>;

  constructor(options: AccessReviewOptions) {
    this.#options = options;
    this.#rate = new ReviewRate(options.reviewsPerSecond);
    const { clock, cacheMs, outageMs } = options;
    const shared = {
      clock,
      state: new ApiServerState(clock),
      grantedMs: cacheMs,
      outageMs: Math.max(cacheMs, outageMs),
      deniedMs: Math.min(cacheMs, DENIED_MS),
      maxDenied: MAX_DENIED,
      maxReviews: MAX_REVIEWS,
      reviewTimeoutMs: REVIEW_TIMEOUT_MS,
    };
    this.#tokens = new VerdictCache({
      ...shared,
      name: "a token",
      maxGranted: options.maxTokens,
      onReview: (result, error) => this.#noteReview("token", result, error),
    });
    this.#accesses = new VerdictCache({
      ...shared,
      name: "an access",
      maxGranted: MAX_ACCESSES,
      onReview: (result, error) => this.#noteReview("access", result, error),
    });
  }

  get knownTokens(): number {
    return this.#tokens.size;
  }

  /** Synchronous if cached. Never rejects. */
  decide(request: AccessRequest): AccessDecision | Promise<AccessDecision> {
    const outcome = this.#judgeToken(request);
    if (outcome instanceof Promise) return outcome.then((known) => this.#decideAccess(request, known));
    return this.#decideAccess(request, outcome);
  }

  #judgeToken({ token, remoteAddress }: AccessRequest): Outcome<Account> | Promise<Outcome<Account>> {
    return this.#tokens.judge({
      key: hash("sha256", token, "base64url"),
      mistake: () => this.#mistakeOf(token),
      admit: (nowMs) => this.#rate.take(remoteAddress, nowMs),
      ask: () => this.#askForToken(token),
    });
  }

  #decideAccess(request: AccessRequest, known: Outcome<Account>): AccessDecision | Promise<AccessDecision> {
    if (known.kind === "denied") return { kind: "unauthenticated", detail: publicReason(known.reason) };
    if (known.kind !== "granted") return undecided(known.kind);
    const { value: account } = known;
    if (request.path === null) return allowed(account);
    const outcome = this.#judgeAccess(account, request, request.path);
    if (outcome instanceof Promise) return outcome.then((access) => conclude(account, request, access));
    return conclude(account, request, outcome);
  }

  #judgeAccess(
    account: Account,
    { verb, remoteAddress }: AccessRequest,
    path: string,
  ): Outcome<true> | Promise<Outcome<true>> {
    if (path.length > MAX_PATH_CHARACTERS) return { kind: "denied", reason: "" };
    return this.#accesses.judge({
      key: `${account.key} ${verb} ${path}`,
      admit: (nowMs) => this.#rate.take(remoteAddress, nowMs),
      ask: () => reviewAccess(this.#options.store, account, { verb, path }),
    });
  }

  /** Finds claims that disqualify the token. Claims in its favour are never trusted. */
  #mistakeOf(token: string): string | null {
    const claims = readClaims(token);
    if (claims === null) return null;
    const { audience, clock } = this.#options;
    if (claims.audiences?.includes(audience) === false) return WRONG_AUDIENCE;
    return claims.expiresAtMs !== null && claims.expiresAtMs <= clock.now() ? EXPIRED : null;
  }

  async #askForToken(token: string): Promise<Verdict<Account>> {
    const { store, audience, clock } = this.#options;
    const expiresAtMs = readClaims(token)?.expiresAtMs ?? null;
    const endsMs = expiresAtMs === null ? null : clock.monotonic() + expiresAtMs - clock.now();
    const verdict = await reviewToken(store, token, audience);
    return "denied" in verdict || endsMs === null ? verdict : { ...verdict, endsMs };
  }

  #noteReview(subject: ReviewSubject, result: "granted" | "denied" | "failed", error: unknown): void {
    const { logger, onReview } = this.#options;
    onReview?.(subject, result);
    if (result === "failed")
      logger.warnOnce(
        `review:${subject}`,
        "the API server can't review tokens; known tokens stay valid for a while",
        {
          subject,
          error,
        },
      );
  }
}

const WRONG_AUDIENCE = "the bearer token is for another audience";
const EXPIRED = "the bearer token has expired";
/** Reasons that callers may see; the API server's messages stay internal. */
const PUBLIC_REASONS: ReadonlySet<string> = new Set([WRONG_AUDIENCE, EXPIRED]);

function publicReason(reason: string): string {
  return PUBLIC_REASONS.has(reason) ? reason : "the bearer token is not accepted";
}

function undecided(kind: "throttled" | "unavailable"): AccessDecision {
  const detail =
    kind === "throttled"
      ? "too many requests with unknown tokens"
      : "the API server can't be asked who you are at the moment";
  return { kind, detail };
}

function allowed({ user, node, pod }: Account): AccessDecision {
  return { kind: "allowed", user, node, pod };
}

function conclude(account: Account, { verb, path }: AccessRequest, outcome: Outcome<true>): AccessDecision {
  const { user } = account;
  if (outcome.kind === "granted") return allowed(account);
  if (outcome.kind !== "denied") return undecided(outcome.kind);
  const rule = `nonResourceURLs: [${JSON.stringify(path)}], verbs: [${JSON.stringify(verb)}]`;
  return { kind: "forbidden", user, detail: `${user} needs a ClusterRole with the rule {${rule}}` };
}

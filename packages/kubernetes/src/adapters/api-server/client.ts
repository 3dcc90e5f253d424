import { reasonOf, codeOf } from "@isochrone/primitives";
import { DeadlineError, delayMs, withDeadline } from "@isochrone/runtime";
import type { BackoffDelays, Clock, Random } from "@isochrone/runtime";
import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";

import { StoreError } from "../../store/errors.ts";
import {
  acceptOf,
  bodyOf,
  giveBack,
  isBinary,
  JSON_FORM,
  jsonOf,
  NOT_IN_THIS_FORM,
  saidBy,
} from "./answers.ts";
import type { Answer, MetadataForm } from "./answers.ts";
import { Connections } from "./connections.ts";
import type { Credentials } from "./credentials.ts";
import { RateLimit } from "./rate-limit.ts";
import { errorOfStatus, statusOf } from "./status-error.ts";

const MAX_ATTEMPTS = 4;
const DELAYS: BackoffDelays = { initialMs: 200, maxMs: 5_000, factor: 2, jitterRatio: 0.5 };
/** Longest Retry-After that is waited for. Longer ones are left to the caller. */
const MAX_RETRY_AFTER_MS = 10_000;

export interface ApiRequest {
  readonly verb: string;
  readonly kind: string;
  readonly name?: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
  readonly contentType?: string;
  /** Requests a metadata form instead of the object's own. */
  readonly as?: MetadataForm;
  /** Accepts a binary answer; the reader must check the content type. */
  readonly isBinary?: boolean;
  /** Idempotent: retried if the outcome is unknown. */
  readonly isRepeatable?: boolean;
  /** Removes managedFields before parsing, for kinds without other fields of that name. */
  readonly dropsManagedFields?: boolean;
  /** Returns a 429 instead of retrying. */
  readonly takesRefusal?: boolean;
}

export interface ApiServerObserver {
  requested?(request: {
    readonly verb: string;
    readonly kind: string;
    readonly code: number;
    readonly durationMs: number;
  }): void;
  /** A request was delayed by our own rate limit. */
  throttled?(waitMs: number): void;
  /** A watch continues with a new request. */
  watchRenewed?(kind: string, reason: Renewal): void;
}

/**
 * The server ended it, was silent for too long, or sent an unknown field, after which the kind is read as
 * JSON.
 */
export type Renewal = "ended" | "silent" | "unknown_field";

export interface LaneOptions {
  readonly requestTimeoutMs: number;
  /** Requests per second. Null: unlimited, for rare and urgent requests. */
  readonly qps: number | null;
  readonly burst: number;
  readonly maxConnections: number;
}

interface ApiClientOptions extends LaneOptions {
  readonly credentials: Credentials;
  readonly clock: Clock;
  readonly random: Random;
  readonly userAgent: string;
  readonly observer: ApiServerObserver;
}

/** Retries safe requests, and maps failures to StoreErrors. */
export class ApiClient {
  readonly #options: ApiClientOptions;
  readonly #limit: RateLimit | null;
  readonly #connections: Connections;
  readonly #closed = new AbortController();
  readonly #lanes: ApiClient[] = [];

  constructor(options: ApiClientOptions) {
    this.#options = options;
    this.#connections = new Connections(options.maxConnections);
    const { clock, qps, burst } = options;
    this.#limit = qps === null ? null : new RateLimit(clock, qps, burst);
  }

  lane(options: Partial<LaneOptions>): ApiClient {
    const lane = new ApiClient({ ...this.#options, ...options });
    this.#lanes.push(lane);
    return lane;
  }

  async json(request: ApiRequest): Promise<unknown> {
    return await this.#answer(request, ({ bytes }) => {
      try {
        return jsonOf(bytes, request.dropsManagedFields);
      } finally {
        giveBack(bytes);
      }
    });
  }

  async answer(request: ApiRequest): Promise<Answer> {
    return await this.#answer(request, (answer) => answer);
  }

  /** Returns an unbuffered answer. Its reader must end it. */
  async stream(request: ApiRequest, ended: AbortSignal): Promise<IncomingMessage> {
    const { clock, requestTimeoutMs } = this.#options;
    const signal = AbortSignal.any([this.#closed.signal, ended]);
    return await this.#attempts(request, signal, async () => {
      const cut = new AbortController();
      return await withDeadline(clock, requestTimeoutMs, actOf(request), (deadline) => {
        deadline.addEventListener("abort", () => cut.abort(deadline.reason), { once: true });
        return this.#send(request, AbortSignal.any([cut.signal, signal]), true);
      });
    });
  }

  close(): void {
    this.#closed.abort(new StoreError("unavailable", "the store is closed"));
    this.#connections.close();
    for (const lane of this.#lanes) lane.close();
  }

  async #answer<T>(request: ApiRequest, read: (answer: Answer) => T): Promise<T> {
    const { clock, requestTimeoutMs } = this.#options;
    return await this.#attempts(request, this.#closed.signal, (signal) =>
      withDeadline(clock, requestTimeoutMs, actOf(request), async (deadline) => {
        const response = await this.#send(request, AbortSignal.any([deadline, signal]), false);
        return read({ bytes: await bodyOf(response), isBinary: isBinary(response) });
      }),
    );
  }

  async #attempts<T>(
    request: ApiRequest,
    signal: AbortSignal,
    run: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      signal.throwIfAborted();
      try {
        return await run(signal);
      } catch (error) {
        signal.throwIfAborted();
        const failure = failureOf(request, error);
        const waitMs = attempt < MAX_ATTEMPTS ? this.#pauseMs(request, failure, attempt) : null;
        if (waitMs === null) throw failure.error;
        await this.#options.clock.sleep(waitMs, signal);
      }
    }
  }

  /** Returns the delay before a retry, or null if there must be none. */
  #pauseMs(request: ApiRequest, failure: Failure, attempt: number): number | null {
    const { code } = failure.error;
    if (code === "unauthorized") {
      // The token may have been rotated: retry once with the new one.
      this.#options.credentials.forget();
      return attempt === 1 ? 0 : null;
    }
    if (!failure.error.retryable || (code === "too_many_requests" && request.takesRefusal === true))
      return null;
    const wasNotDone = !failure.wasSent || code === "too_many_requests" || failure.retryAfterMs !== null;
    if (!wasNotDone && request.isRepeatable !== true) return null;
    const ownMs = delayMs(DELAYS, attempt, this.#options.random);
    if (failure.retryAfterMs === null) return ownMs;
    return failure.retryAfterMs <= MAX_RETRY_AFTER_MS ? failure.retryAfterMs + ownMs : null;
  }

  async #send(request: ApiRequest, signal: AbortSignal, isStream: boolean): Promise<IncomingMessage> {
    const { credentials, observer, clock } = this.#options;
    const waitedMs = (await this.#limit?.pass(signal)) ?? 0;
    if (waitedMs > 0) observer.throttled?.(waitedMs);
    const login = await credentials.login();
    const startedAtMs = clock.monotonic();
    const body = request.body === undefined ? undefined : JSON.stringify(request.body);
    const { verb, kind, method } = request;
    let code = 0;
    try {
      const response = await this.#connections.send(login, {
        method,
        path: targetOf(request),
        headers: this.#headers(request, body),
        ...(body === undefined ? {} : { body }),
        isStream,
        signal,
      });
      code = response.statusCode ?? 0;
      if (code >= 200 && code < 300) return response;
      const said = saidBy(await bodyOf(response), isBinary(response));
      if (!(request.isBinary === true && NOT_IN_THIS_FORM.has(code)))
        throw new Refusal(code, said, response.headers["retry-after"]);
    } finally {
      observer.requested?.({ verb, kind, code, durationMs: clock.monotonic() - startedAtMs });
    }
    return await this.#send({ ...request, isBinary: false }, signal, isStream);
  }

  #headers(request: ApiRequest, body: string | undefined): OutgoingHttpHeaders {
    const { contentType = JSON_FORM } = request;
    const headers = { accept: acceptOf(request.as, request.isBinary), "user-agent": this.#options.userAgent };
    if (body === undefined) return headers;
    return { ...headers, "content-type": contentType, "content-length": Buffer.byteLength(body) };
  }
}

class Refusal extends Error {
  readonly code: number;
  readonly said: unknown;
  readonly retryAfter: string | undefined;

  constructor(code: number, said: unknown, retryAfter: string | undefined) {
    super(`answered ${code}`);
    this.code = code;
    this.said = said;
    this.retryAfter = retryAfter;
  }
}

interface Failure {
  readonly error: StoreError;
  /** Whether the server may have received it. */
  readonly wasSent: boolean;
  readonly retryAfterMs: number | null;
}

/** Connection errors: nothing was sent. */
const NEVER_SENT: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "CERT_HAS_EXPIRED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "ERR_TLS_CERT_ALTNAME_INVALID",
]);

function failureOf(request: ApiRequest, error: unknown): Failure {
  const act = actOf(request);
  if (error instanceof Refusal) {
    const status = errorOfStatus(act, statusOf(error.code, error.said));
    const seconds = Number(error.retryAfter);
    const retryAfterMs = error.retryAfter !== undefined && seconds >= 0 ? seconds * 1_000 : null;
    return { error: status, wasSent: true, retryAfterMs };
  }
  if (error instanceof StoreError) return { error, wasSent: false, retryAfterMs: null };
  if (error instanceof DeadlineError) {
    return {
      error: new StoreError("timeout", error.message, { cause: error }),
      wasSent: true,
      retryAfterMs: null,
    };
  }
  const reason = reasonOf(error);
  const unavailable = new StoreError("unavailable", `${act}: the API server can't be reached: ${reason}`, {
    cause: error,
  });
  return { error: unavailable, wasSent: !NEVER_SENT.has(codeOf(error) ?? ""), retryAfterMs: null };
}

export function actOf({ verb, kind, name }: Pick<ApiRequest, "verb" | "kind" | "name">): string {
  return name === undefined ? `${verb} ${kind}` : `${verb} ${kind} ${name}`;
}

function targetOf({ path, query = {} }: ApiRequest): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, value);
  const text = parameters.toString();
  return text === "" ? path : `${path}?${text}`;
}

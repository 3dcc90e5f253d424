import type { FastifyReply, FastifyRequest } from "fastify";
import type { ElectedLeadership, LeaseHolder } from "@isochrone/kubernetes";
import { boundedBody, withDeadline, type Clock, type Fetch } from "@isochrone/runtime";
import { problem, sendProblem } from "@isochrone/runtime/http";
import { reasonOf } from "@isochrone/primitives";

/** Header of a forwarded request, which must not be forwarded again. */
export const FORWARDED_HEADER = "isochrone-forwarded-by";

export const FORWARD_FAILURES = [
  "not_leader",
  "no_leader",
  /** No connection, a timeout, or an invalid response. */
  "leader_unreachable",
  "forward_overload",
] as const;
export type ForwardFailure = (typeof FORWARD_FAILURES)[number];

interface LeaderForwardOptions {
  readonly leadership: Pick<ElectedLeadership, "isLeader" | "holder">;
  readonly replica: string;
  readonly clock: Clock;
  /** May add this replica's token if the client sent none. @default the platform's fetch */
  readonly fetch?: Fetch;
  /** Timeout including the body; below the clients' timeout. @default 3000 */
  readonly timeoutMs?: number;
  /** Maximum number of concurrent forwards. @default 128 */
  readonly maxInFlight?: number;
  readonly onFailed?: (failure: ForwardFailure) => void;
}

interface LeaderAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

interface Passed {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  /** The client's header, so that the leader can authorize it. */
  readonly authorization?: string | undefined;
}

class NoAnswer extends Error {
  readonly failure: ForwardFailure;

  constructor(failure: ForwardFailure, message: string, cause?: unknown) {
    super(message, { cause });
    this.failure = failure;
  }
}

const MAX_ANSWER_BYTES = 64 * 1024;
const RETRY_AFTER_SECONDS = 5;
const PASSED_BACK = ["content-type", "cache-control", "retry-after"] as const;

export class LeaderForward {
  readonly #options: LeaderForwardOptions;
  readonly #timeoutMs: number;
  readonly #maxInFlight: number;
  #inFlight = 0;

  constructor(options: LeaderForwardOptions) {
    this.#options = options;
    this.#timeoutMs = options.timeoutMs ?? 3_000;
    this.#maxInFlight = options.maxInFlight ?? 128;
  }

  isHere(): boolean {
    return this.#options.leadership.isLeader();
  }

  /** Replies with the leader's response, or 503 with Retry-After. Never rejects. */
  async pass(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    try {
      if (request.headers[FORWARDED_HEADER] !== undefined)
        throw new NoAnswer("not_leader", "this replica does not lead any more");
      const { method, url: path, body } = request;
      const { authorization } = request.headers;
      const answer = await this.#ask({
        method,
        path,
        authorization,
        ...(body === undefined ? {} : { body }),
      });
      return reply.code(answer.status).headers(answer.headers).send(answer.body);
    } catch (error) {
      return this.refuse(reply, error);
    }
  }

  /** Sends to the leader as this replica. Returns false if it fails. Never rejects. */
  async tell(path: string, body: unknown): Promise<boolean> {
    try {
      const { status } = await this.#ask({ method: "POST", path, body });
      return status >= 200 && status < 300;
    } catch (error) {
      this.#count(error);
      return false;
    }
  }

  refuse(
    reply: FastifyReply,
    error: unknown = new NoAnswer("not_leader", "this replica does not lead"),
  ): FastifyReply {
    const code = this.#count(error);
    const detail = reasonOf(error);
    return sendProblem(
      reply.header("retry-after", String(RETRY_AFTER_SECONDS)),
      problem(503, { code, detail }),
    );
  }

  #count(error: unknown): ForwardFailure {
    const failure = error instanceof NoAnswer ? error.failure : "leader_unreachable";
    this.#options.onFailed?.(failure);
    return failure;
  }

  async #ask(passed: Passed): Promise<LeaderAnswer> {
    const { leadership, clock } = this.#options;
    const url = leaderUrl(leadership.holder(), passed.path);
    if (this.#inFlight >= this.#maxInFlight)
      throw new NoAnswer("forward_overload", "too many requests are being passed on to the leader");
    this.#inFlight += 1;
    try {
      return await withDeadline(clock, this.#timeoutMs, "the leader's answer", (signal) =>
        this.#fetch(url, passed, signal),
      );
    } catch (error) {
      if (error instanceof NoAnswer) throw error;
      throw new NoAnswer("leader_unreachable", "the leading replica gave no answer", error);
    } finally {
      this.#inFlight -= 1;
    }
  }

  async #fetch(
    url: URL,
    { method, body, authorization }: Passed,
    signal: AbortSignal,
  ): Promise<LeaderAnswer> {
    const headers: Record<string, string> = { [FORWARDED_HEADER]: this.#options.replica };
    if (authorization !== undefined) headers["authorization"] = authorization;
    if (body !== undefined) headers["content-type"] = "application/json";
    const ask: Fetch = this.#options.fetch ?? fetch;
    const response = await ask(url.href, {
      method,
      headers,
      signal,
      // A redirect would send credentials elsewhere.
      redirect: "error",
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answered = PASSED_BACK.flatMap((name) => {
      const value = response.headers.get(name);
      return value === null ? [] : [[name, value] as const];
    });
    return {
      status: response.status,
      headers: Object.fromEntries(answered),
      body: await boundedBody(
        response,
        MAX_ANSWER_BYTES,
        () =>
          new NoAnswer(
            "leader_unreachable",
            `the leader's answer must have at most ${MAX_ANSWER_BYTES} bytes`,
          ),
      ),
    };
  }
}

function leaderUrl(holder: LeaseHolder | null, path: string): URL {
  if (holder === null) throw new NoAnswer("no_leader", "no replica leads at the moment");
  const base = holder.url !== null && URL.canParse(holder.url) ? new URL(holder.url) : null;
  if (base === null || !/^https?:$/.test(base.protocol))
    throw new NoAnswer("leader_unreachable", "the leading replica says no address that could be asked");
  // A path that starts with two slashes would change the host.
  const url = new URL(base);
  const [pathname = "", search = ""] = path.split("?", 2);
  url.pathname = pathname;
  url.search = search;
  return url;
}

import type { FastifyReply, FastifyRequest } from "fastify";
import type { ElectedLeadership, LeaseHolder } from "@isochrone/kubernetes";
import { boundedBody, withDeadline, type Clock, type Fetch } from "@isochrone/runtime";
import { problem, sendProblem } from "@isochrone/runtime/http";
import { reasonOf } from "@isochrone/primitives";

/** Request header of what another replica passed on: it is answered here or not at all. */
export const FORWARDED_HEADER = "isochrone-forwarded-by";

/** Why a request that only the leader can serve got no answer of it. */
export const FORWARD_FAILURES = [
  /** It was passed on to a replica that does not lead (any more). */
  "not_leader",
  "no_leader",
  /** No connection, no answer in time, or none that is one. */
  "leader_unreachable",
  /** Too many requests are being passed on already. */
  "forward_overload",
] as const;
export type ForwardFailure = (typeof FORWARD_FAILURES)[number];

/** How requests are passed on. */
interface LeaderForwardOptions {
  readonly leadership: Pick<ElectedLeadership, "isLeader" | "holder">;
  /** Name of this replica. */
  readonly replica: string;
  readonly clock: Clock;
  /**
   * E.g. one that sends this replica's token where no client's is passed on.
   * @default the platform's fetch
   */
  readonly fetch?: Fetch;
  /** For the leader's answer, body included; less than clients wait. @default 3000 */
  readonly timeoutMs?: number;
  /** Requests that are being passed on at one time. @default 128 */
  readonly maxInFlight?: number;
  /** Hears of every request that got no answer of the leader, for a metric. */
  readonly onFailed?: (failure: ForwardFailure) => void;
}

/** The leader's answer, whatever its status. */
interface LeaderAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

interface Passed {
  readonly method: string;
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Of the client, so that the leader can see who asks. */
  readonly authorization?: string | undefined;
}

/** No answer of the leader. */
class NoAnswer extends Error {
  readonly failure: ForwardFailure;

  constructor(failure: ForwardFailure, message: string, cause?: unknown) {
    super(message, { cause });
    this.failure = failure;
  }
}

const MAX_ANSWER_BYTES = 64 * 1024;
const RETRY_AFTER_SECONDS = 5;
/** What of the leader's answer its client gets to see. */
const PASSED_BACK = ["content-type", "cache-control", "retry-after"] as const;

/** Passes requests that only the leader can serve on to it, once. */
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

  /** Whether this replica answers itself. */
  isHere(): boolean {
    return this.#options.leadership.isLeader();
  }

  /** Answers with what the leader answers, or 503 with Retry-After. Never rejects. */
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

  /**
   * To the leader on this replica's own account; false when it can't be reached or does not take it. Never
   * rejects.
   */
  async tell(path: string, body: unknown): Promise<boolean> {
    try {
      const { status } = await this.#ask({ method: "POST", path, body });
      return status >= 200 && status < 300;
    } catch (error) {
      this.#count(error);
      return false;
    }
  }

  /** Sends the client away for a while. */
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
      // To nobody but the leader.
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
  // Only ever the leader's own host: a path that begins with two slashes would name another one.
  const url = new URL(base);
  const [pathname = "", search = ""] = path.split("?", 2);
  url.pathname = pathname;
  url.search = search;
  return url;
}

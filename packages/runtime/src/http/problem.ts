import type { FastifyReply } from "fastify";
import { STATUS_CODES } from "node:http";
import { CodedError } from "../errors.ts";

/** A mistake in one place of a request. */
export interface FieldMistake {
  /** Where: body, querystring, params or headers, then the path of the field. */
  readonly field: string;
  readonly rule: string;
  /** What was there, shortened; absent when nothing was. */
  readonly value?: unknown;
}

/** The body of an error (RFC 9457). */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail?: string;
  readonly code?: string;
  readonly errors?: readonly FieldMistake[];
}

/** An error that a route throws to answer with a problem of its own. */
export class HttpError extends CodedError {
  readonly status: number;
  readonly mistakes: readonly FieldMistake[];

  constructor(
    status: number,
    code: string,
    detail: string,
    options: { readonly mistakes?: readonly FieldMistake[]; readonly cause?: unknown } = {},
  ) {
    super(code, detail, { retryable: status >= 500 || status === 429, cause: options.cause });
    this.status = status;
    this.mistakes = options.mistakes ?? [];
  }
}

/** A problem for a status, its title taken from the standard texts. */
export function problem(status: number, rest: Omit<Partial<Problem>, "status"> = {}): Problem {
  return { type: "about:blank", title: STATUS_CODES[status] ?? "Error", status, ...rest };
}

/** Answers with a problem. */
export function sendProblem(reply: FastifyReply, body: Problem): FastifyReply {
  // bytes, because fastify would add a charset, which the media type does not define, to a text
  return reply
    .code(body.status)
    .type("application/problem+json")
    .send(Buffer.from(JSON.stringify(body)));
}

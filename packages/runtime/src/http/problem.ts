import type { FastifyReply } from "fastify";
import { STATUS_CODES } from "node:http";
import { CodedError } from "../errors.ts";

export interface FieldMistake {
  /** body, querystring, params or headers, then the path of the field. */
  readonly field: string;
  readonly rule: string;
  readonly value?: unknown;
}

/** RFC 9457. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail?: string;
  readonly code?: string;
  readonly errors?: readonly FieldMistake[];
}

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

export function problem(status: number, rest: Omit<Partial<Problem>, "status"> = {}): Problem {
  return { type: "about:blank", title: STATUS_CODES[status] ?? "Error", status, ...rest };
}

export function sendProblem(reply: FastifyReply, body: Problem): FastifyReply {
  // Bytes, because fastify would add a charset to text, which the media type doesn't define.
  return reply
    .code(body.status)
    .type("application/problem+json")
    .send(Buffer.from(JSON.stringify(body)));
}

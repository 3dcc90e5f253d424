// What an answer of another status than 200 says.
import { looseFields, parseJson, reasonOf } from "@isochrone/primitives";
import type { GraphAnswer } from "./client-options.ts";
import { GraphClientError } from "./errors.ts";

const RETRYABLE_STATUS = new Set([408, 425, 429, 500, 502, 503, 504]);

// Retry-After is respected up to so long, milliseconds.
const MAX_RETRY_AFTER_MS = 600_000;

export function statusError(url: string, { status, headers }: GraphAnswer, text: string): GraphClientError {
  const detail = problemDetail(text);
  const message = `answered ${status}${detail === null ? "" : ` (${detail})`}`;
  return new GraphClientError("http_status", url, message, {
    status,
    retryable: RETRYABLE_STATUS.has(status),
    retryAfterMs: retryAfterOf(headers.get("retry-after")),
  });
}

/** Seconds, the only form that our aggregator uses; a date would need two clocks to agree. */
function retryAfterOf(header: string | null): number | null {
  if (header === null || !/^\d{1,9}$/.test(header)) return null;
  return Math.min(MAX_RETRY_AFTER_MS, Number(header) * 1000);
}

/** The words of a problem+json body (RFC 9457); null for any other body. */
function problemDetail(text: string): string | null {
  try {
    const problem = looseFields<Record<"detail" | "title", unknown>>(JSON.parse(text));
    const words = problem.detail ?? problem.title;
    return typeof words === "string" ? words.slice(0, 300) : null;
  } catch {
    return null;
  }
}

/**
 * Returns what a text of JSON holds.
 * @throws GraphClientError
 */
export function jsonAnswer(url: string, text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    throw new GraphClientError("malformed", url, `the answer is not JSON: ${reasonOf(error)}`, {
      cause: error,
    });
  }
}

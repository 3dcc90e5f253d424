import { looseFields, parseJson, reasonOf } from "@isochrone/primitives";
import type { GraphAnswer } from "./client-options.ts";
import { GraphClientError } from "./errors.ts";

const RETRYABLE_STATUS = new Set([408, 425, 429, 500, 502, 503, 504]);

// Cap on Retry-After, milliseconds.
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

/** Seconds, as our aggregator sends; a date would require synchronised clocks. */
function retryAfterOf(header: string | null): number | null {
  if (header === null || !/^\d{1,9}$/.test(header)) return null;
  return Math.min(MAX_RETRY_AFTER_MS, Number(header) * 1000);
}

function problemDetail(text: string): string | null {
  try {
    const problem = looseFields<Record<"detail" | "title", unknown>>(JSON.parse(text));
    const words = problem.detail ?? problem.title;
    return typeof words === "string" ? words.slice(0, 300) : null;
  } catch {
    return null;
  }
}

export function jsonAnswer(url: string, text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    throw new GraphClientError("malformed", url, `the answer is not JSON: ${reasonOf(error)}`, {
      cause: error,
    });
  }
}

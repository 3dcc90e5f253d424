import { NetworkError } from "./network/errors.ts";

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000 };

/**
 * Parses a duration such as 500ms, 30s or 2m into ms.
 * @throws NetworkError `invalid_argument` naming `subject`
 */
export function parseDuration(subject: string, text: unknown): number {
  const match = typeof text === "string" ? /^(\d{1,9}(?:\.\d{1,9})?)(ms|s|m)$/.exec(text) : null;
  if (match === null) {
    throw new NetworkError(
      "invalid_argument",
      `${subject} must be a duration such as 500ms, 30s or 2m, got ${JSON.stringify(text)}`,
    );
  }
  return Number(match[1]) * UNIT_MS[match[2]!]!;
}

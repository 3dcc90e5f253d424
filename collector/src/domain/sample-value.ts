import { BYTE, endOfWord, isBlank, skipBlanks } from "./bytes.ts";
import type { PageFormat } from "./exposition.ts";
import { readNumber } from "./number-text.ts";

const VALUE_RULES = {
  value: "a value must be a number",
  timestamp: "a timestamp must be a number: integer milliseconds, or seconds in OpenMetrics",
  more: "nothing but an exemplar may follow value and timestamp",
} as const;

/** Value and timestamp of a line; an instance is used again for each. */
export class SampleValue {
  readonly #format: PageFormat;
  value = 0;
  /** Milliseconds since the epoch; NaN where the page gives none. */
  timestampMs = NaN;

  constructor(format: PageFormat) {
    this.#format = format;
  }

  /** Reads what follows the labels. @returns the rule that it breaks, null if none */
  read(bytes: Uint8Array, from: number, end: number): string | null {
    const start = skipBlanks(bytes, from, end);
    const valueEnd = endOfWord(bytes, start, end);
    const value = readNumber(bytes, start, valueEnd);
    if (value === undefined) return VALUE_RULES.value;
    this.value = value;
    this.timestampMs = NaN;
    const next = skipBlanks(bytes, valueEnd, end);
    if (next === end || bytes[next] === BYTE.hash) return null;
    return this.#readTimestamp(bytes, next, end);
  }

  #readTimestamp(bytes: Uint8Array, start: number, end: number): string | null {
    const wordEnd = endOfWord(bytes, start, end);
    const time = readNumber(bytes, start, wordEnd);
    if (time === undefined || !Number.isFinite(time)) return VALUE_RULES.timestamp;
    if (this.#format === "text" && !Number.isInteger(time)) return VALUE_RULES.timestamp;
    this.timestampMs = this.#format === "text" ? time : time * 1000;
    const next = skipBlanks(bytes, wordEnd, end);
    return next === end || bytes[next] === BYTE.hash ? null : VALUE_RULES.more;
  }
}

/**
 * Where the labels that begin at `start` probably end, seen from the line's end: before the value and a
 * timestamp. It is a guess (an exemplar deceives it) that only serves to find a row by its bytes: a row that
 * is found with it was read from the same bytes before.
 */
export function guessLabelsEnd(bytes: Uint8Array, start: number, end: number): number {
  if (bytes[start] !== BYTE.openBrace) return start;
  let at = end;
  for (let words = 0; words < 2; words++) {
    while (at > start && !isBlank(bytes[at - 1]!) && bytes[at - 1] !== BYTE.closeBrace) at--;
    while (at > start && isBlank(bytes[at - 1]!)) at--;
    if (at > start && bytes[at - 1] === BYTE.closeBrace) return at;
  }
  return -1;
}

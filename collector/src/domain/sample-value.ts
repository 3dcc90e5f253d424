import { BYTE, endOfWord, isBlank, skipBlanks } from "./bytes.ts";
import type { PageFormat } from "./exposition.ts";
import { readNumber } from "./number-text.ts";

const VALUE_RULES = {
  value: "a value must be a number",
  timestamp: "a timestamp must be a number: integer milliseconds, or seconds in OpenMetrics",
  more: "nothing but an exemplar may follow value and timestamp",
} as const;

export class SampleValue {
  readonly #format: PageFormat;
  value = 0;
  /** Unix milliseconds; NaN without one. */
  timestampMs = NaN;

  constructor(format: PageFormat) {
    this.#format = format;
  }

  /** Parses the text after the labels. @returns the broken rule, or null */
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
 * Guesses the end of the labels from the line's end, before value and timestamp. An exemplar can mislead it;
 * it is only used to look up rows by bytes, and a found row was read from equal bytes.
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

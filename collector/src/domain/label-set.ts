import { BYTE, endOfLabelName, isBlank, skipBlanks, textOf, unescape } from "./bytes.ts";

export const LABEL_RULES = {
  end: "labels must end with }",
  name: "a label name must match [a-zA-Z_][a-zA-Z0-9_]* or stand in quotes",
  quote: "a label value must stand in quotes",
  close: "a label value must end with a quote",
  comma: "labels must be separated by commas",
  twice: "a label must occur once",
  utf8: "a label value must be UTF-8",
} as const;

/** Label names in the family's usual order: nearly all rows match. */
export interface ExpectedNames {
  readonly encodedNames: readonly Uint8Array[];
}

/** Labels of one line as offsets into its bytes. Instances are reused. */
export class LabelSet {
  readonly #maxLabels: number;
  readonly #nameStarts: Int32Array;
  readonly #nameEnds: Int32Array;
  readonly #valueStarts: Int32Array;
  readonly #valueEnds: Int32Array;
  readonly #escaped: Uint8Array;
  #bytes: Uint8Array = new Uint8Array(0);
  #view: DataView = new DataView(new ArrayBuffer(0));
  count = 0;
  expected = false;
  /** Exactly `{a="b",c="d"}`: no blanks, quoted names or trailing comma. */
  plain = false;
  /** Offset of a quoted metric name inside the braces; -1 without one. */
  quotedNameStart = -1;
  quotedNameEnd = -1;
  fault = "";
  #highBytes = false;

  constructor(maxLabels: number) {
    this.#maxLabels = maxLabels;
    this.#nameStarts = new Int32Array(maxLabels);
    this.#nameEnds = new Int32Array(maxLabels);
    this.#valueStarts = new Int32Array(maxLabels);
    this.#valueEnds = new Int32Array(maxLabels);
    this.#escaped = new Uint8Array(maxLabels);
  }

  valueStart(index: number): number {
    return this.#valueStarts[index]!;
  }

  valueEnd(index: number): number {
    return this.#valueEnds[index]!;
  }

  isEscaped(index: number): boolean {
    return this.#escaped[index] !== 0;
  }

  name(index: number): string {
    const start = this.#nameStarts[index]!;
    const end = this.#nameEnds[index]!;
    return this.#bytes[start] === BYTE.quote ? this.#text(start + 1, end - 1) : this.#text(start, end);
  }

  value(index: number): string {
    const text = textOf(this.#bytes, this.#valueStarts[index]!, this.#valueEnds[index]!);
    return this.#escaped[index] === 0 ? text : unescape(text);
  }

  clear(): void {
    this.count = 0;
    this.expected = false;
    this.plain = true;
  }

  get quotedName(): string {
    return this.#text(this.quotedNameStart, this.quotedNameEnd);
  }

  /** Reads labels from the brace at `start`. @returns the offset after the closing brace; -1: see `fault` */
  read(
    bytes: Uint8Array,
    view: DataView,
    start: number,
    end: number,
    expected: ExpectedNames | null,
  ): number {
    this.#bytes = bytes;
    this.#view = view;
    this.count = 0;
    this.expected = expected !== null;
    this.plain = true;
    this.quotedNameStart = -1;
    this.#highBytes = false;
    const after = this.#readAll(bytes, start + 1, end, expected?.encodedNames ?? NONE);
    if (after < 0) return -1;
    if (this.count !== expected?.encodedNames.length) this.expected = false;
    if (this.#highBytes && !isUtf8(bytes, start, after)) return this.#refuse(LABEL_RULES.utf8);
    return after;
  }

  #readAll(bytes: Uint8Array, start: number, end: number, expected: readonly Uint8Array[]): number {
    let at = this.#skipBlanks(bytes, start, end);
    if (bytes[at] === BYTE.closeBrace && at < end) return at + 1;
    for (;;) {
      if (this.count === this.#maxLabels)
        return this.#refuse(`a sample has at most ${this.#maxLabels} labels`);
      at = this.#readPair(bytes, at, end, expected[this.count]);
      if (at < 0) return -1;
      if (bytes[at] === BYTE.comma && at < end) {
        at++;
        if (bytes[at] !== BYTE.closeBrace && !isBlank(bytes[at]!)) continue;
        this.plain = false;
        at = skipBlanks(bytes, at, end);
        if (bytes[at] !== BYTE.closeBrace || at >= end) continue;
      }
      if (at >= end) return this.#refuse(LABEL_RULES.end);
      if (bytes[at] !== BYTE.closeBrace) return this.#refuse(LABEL_RULES.comma);
      return at + 1;
    }
  }

  #readPair(bytes: Uint8Array, start: number, end: number, expected: Uint8Array | undefined): number {
    const valueStart =
      expected !== undefined && this.expected && beginsWith(bytes, start, end, expected)
        ? this.#named(start, start + expected.length - 2)
        : this.#readName(bytes, start, end);
    if (valueStart <= 0) return valueStart === 0 ? this.#skipBlanks(bytes, this.quotedNameEnd + 1, end) : -1;
    return this.#readValue(bytes, valueStart, end);
  }

  #named(start: number, end: number): number {
    this.#nameStarts[this.count] = start;
    this.#nameEnds[this.count] = end;
    return end + 2;
  }

  /** @returns the offset of the value after its quote; 0: a quoted name without a value; -1: refused */
  #readName(bytes: Uint8Array, start: number, end: number): number {
    this.expected = false;
    if (start >= end) return this.#refuse(LABEL_RULES.end);
    const quoted = bytes[start] === BYTE.quote;
    const nameStart = quoted ? start + 1 : start;
    const nameEnd = quoted ? this.#closingQuote(bytes, nameStart, end) : endOfLabelName(bytes, start, end);
    if (nameEnd < 0) return this.#refuse(LABEL_RULES.close);
    if (nameEnd === nameStart) return this.#refuse(LABEL_RULES.name);
    if (quoted) this.plain = false;
    const equals = this.#skipBlanks(bytes, quoted ? nameEnd + 1 : nameEnd, end);
    if (equals >= end || bytes[equals] !== BYTE.equals) return this.#metricName(quoted, nameStart, nameEnd);
    const quote = this.#skipBlanks(bytes, equals + 1, end);
    if (quote >= end || bytes[quote] !== BYTE.quote) return this.#refuse(LABEL_RULES.quote);
    this.#nameStarts[this.count] = nameStart;
    this.#nameEnds[this.count] = nameEnd;
    return quote + 1;
  }

  #metricName(quoted: boolean, start: number, end: number): number {
    if (!quoted || this.count > 0 || this.quotedNameStart >= 0) return this.#refuse(LABEL_RULES.name);
    this.quotedNameStart = start;
    this.quotedNameEnd = end;
    return 0;
  }

  #readValue(bytes: Uint8Array, start: number, end: number): number {
    const closing = this.#closingQuote(bytes, start, end);
    if (closing < 0) return this.#refuse(LABEL_RULES.close);
    this.#valueStarts[this.count] = start;
    this.#valueEnds[this.count] = closing;
    this.#escaped[this.count] = this.#sawBackslash ? 1 : 0;
    this.count++;
    return this.#skipBlanks(bytes, closing + 1, end);
  }

  #sawBackslash = false;

  #closingQuote(bytes: Uint8Array, start: number, end: number): number {
    const view = this.#view;
    this.#sawBackslash = false;
    let at = start;
    while (at + 4 <= end && isOrdinary(view.getInt32(at, true))) at += 4;
    let high = 0;
    for (; at < end; at++) {
      const byte = bytes[at]!;
      if (byte === BYTE.quote) break;
      high |= byte;
      if (byte === BYTE.backslash) {
        this.#sawBackslash = true;
        high |= bytes[++at] ?? 0;
      }
    }
    if ((high & 0x80) !== 0) this.#highBytes = true;
    return at < end ? at : -1;
  }

  #skipBlanks(bytes: Uint8Array, start: number, end: number): number {
    if (start >= end || !isBlank(bytes[start]!)) return start;
    this.plain = false;
    return skipBlanks(bytes, start, end);
  }

  #text(start: number, end: number): string {
    const text = textOf(this.#bytes, start, end);
    return text.includes("\\") ? unescape(text) : text;
  }

  #refuse(rule: string): -1 {
    this.fault = rule;
    return -1;
  }
}

/** True if four bytes contain no quote, backslash or non-ASCII: subtraction from zero bytes borrows. */
function isOrdinary(word: number): boolean {
  const quote = word ^ 0x22222222;
  const backslash = word ^ 0x5c5c5c5c;
  const zeros = ((quote - 0x01010101) & ~quote) | ((backslash - 0x01010101) & ~backslash);
  return ((zeros | word) & 0x80808080) === 0;
}

const strict = new TextDecoder("utf-8", { fatal: true });

function isUtf8(bytes: Uint8Array, start: number, end: number): boolean {
  try {
    strict.decode(bytes.subarray(start, end));
    return true;
  } catch {
    return false;
  }
}

const NONE: readonly Uint8Array[] = [];

function beginsWith(bytes: Uint8Array, start: number, end: number, expected: Uint8Array): boolean {
  if (start + expected.length > end) return false;
  for (let i = 0; i < expected.length; i++) if (bytes[start + i] !== expected[i]) return false;
  return true;
}

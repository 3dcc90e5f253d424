// Streaming parser of the Prometheus text format 0.0.4 and OpenMetrics 1.0 as written by cAdvisor, Envoy and
// istio-proxy, with quoted names (Prometheus 3). Works on bytes, skips unwanted lines unparsed, and holds at
// most one line.
import { equalBytes } from "@isochrone/telemetry";
import { BYTE, endOfMetricName, endOfWord, isBlank, skipBlanks, textOf } from "./bytes.ts";
import { LabelSet } from "./label-set.ts";

/** From the content type. Timestamps: milliseconds in `text`, seconds in `openmetrics`. */
export type PageFormat = "text" | "openmetrics";

export type FamilyType = "counter" | "gauge" | "histogram" | "summary" | "untyped";

/** Receives a page line by line. `N`: wanted sample, `F`: wanted family. Ranges are valid during the call. */
export interface ExpositionVisitor<N, F> {
  find(view: DataView, start: number, end: number): N | null;
  findFamily(view: DataView, start: number, end: number): F | null;
  type(family: F, type: FamilyType): void;
  /** A line of a wanted name, from after the name. @returns the broken rule, or null */
  sample(name: N, bytes: Uint8Array, view: DataView, start: number, end: number): string | null;
}

export interface ExpositionLimits {
  /** Bytes. @default 65536 */
  readonly maxLineBytes: number;
  /** Labels per sample. @default 64 */
  readonly maxLabels: number;
}

export const DEFAULT_LIMITS: ExpositionLimits = { maxLineBytes: 65_536, maxLabels: 64 };

const TYPES: readonly FamilyType[] = ["counter", "gauge", "histogram", "summary"];
const TYPE = new TextEncoder().encode("TYPE");
const EOF = new TextEncoder().encode("EOF");
const NO_NAME = "a sample begins with a metric name and has a value";
const AFTER_EOF = "nothing may follow # EOF";
const EXCERPT_BYTES = 80;
const FIRST_REST_BYTES = 1_024;
const FIRST_NAME_BYTES = 128;

export class ExpositionReader<N, F> {
  readonly #visitor: ExpositionVisitor<N, F>;
  readonly #limits: ExpositionLimits;
  #rest = new Uint8Array(FIRST_REST_BYTES);
  #restEnd = 0;
  #skipping = false;
  #line = 0;
  /** Cache of the last name and whether it is wanted: rows of a family are adjacent. */
  #lastName = new Uint8Array(FIRST_NAME_BYTES);
  #lastView = new DataView(this.#lastName.buffer);
  #lastLength = 0;
  #lastFound: N | null = null;
  /** Lines with a sample or comment, to recognise a metrics page. */
  recognised = 0;
  malformed = 0;
  unwanted = 0;
  firstFault: string | null = null;
  ended = false;

  constructor(visitor: ExpositionVisitor<N, F>, limits: ExpositionLimits = DEFAULT_LIMITS) {
    this.#visitor = visitor;
    this.#limits = limits;
  }

  feed(chunk: Uint8Array): void {
    const { buffer, byteOffset, byteLength } = chunk;
    // Buffer.indexOf is fastest for line ends; a plain array is faster for everything else.
    const finder = Buffer.from(buffer, byteOffset, byteLength);
    const bytes = new Uint8Array(buffer, byteOffset, byteLength);
    const view = new DataView(buffer, byteOffset, byteLength);
    let start = 0;
    if (this.#restEnd > 0 || this.#skipping) {
      const end = finder.indexOf(BYTE.newline);
      if (end < 0) return this.#keep(bytes, 0, byteLength);
      this.#keep(bytes, 0, end);
      this.#takeRest();
      start = end + 1;
    }
    for (let end = finder.indexOf(BYTE.newline, start); end >= 0; end = finder.indexOf(BYTE.newline, start)) {
      this.#take(bytes, view, start, end);
      start = end + 1;
    }
    this.#keep(bytes, start, byteLength);
  }

  end(): void {
    if (this.#restEnd > 0 || this.#skipping) this.#takeRest();
  }

  #keep(bytes: Uint8Array, start: number, end: number): void {
    const length = end - start;
    if (this.#skipping || length === 0) return;
    const needed = this.#restEnd + length;
    if (needed > this.#limits.maxLineBytes + 1) {
      // Reject the line now and skip its rest, so that a page without line ends can't fill memory.
      this.#restEnd = 0;
      this.#skipping = true;
      this.#line++;
      return this.#tooLong(bytes, start, end);
    }
    if (needed > this.#rest.length) {
      const grown = new Uint8Array(Math.max(needed, this.#rest.length * 2));
      grown.set(this.#rest.subarray(0, this.#restEnd));
      this.#rest = grown;
    }
    this.#rest.set(bytes.subarray(start, end), this.#restEnd);
    this.#restEnd = needed;
  }

  #takeRest(): void {
    const end = this.#restEnd;
    this.#restEnd = 0;
    if (this.#skipping) {
      this.#skipping = false;
      return;
    }
    this.#take(this.#rest, new DataView(this.#rest.buffer), 0, end);
  }

  #take(bytes: Uint8Array, view: DataView, from: number, to: number): void {
    this.#line++;
    const end = to > from && bytes[to - 1] === BYTE.return ? to - 1 : to;
    if (end - from > this.#limits.maxLineBytes) return this.#tooLong(bytes, from, end);
    const start = skipBlanks(bytes, from, end);
    if (start === end) return;
    if (this.ended) return this.#fault(AFTER_EOF, bytes, start, end);
    if (bytes[start] === BYTE.hash) return this.#comment(bytes, view, start, end);
    if (bytes[start] === BYTE.openBrace) return this.#quotedSample(bytes, view, start, end);
    this.#sample(bytes, view, start, end);
  }

  #sample(bytes: Uint8Array, view: DataView, start: number, end: number): void {
    let nameEnd = start + this.#lastLength;
    if (!this.#isLastName(bytes, view, start, nameEnd, end)) {
      nameEnd = endOfMetricName(bytes, start, end);
      if (nameEnd === start || nameEnd === end || !endsName(bytes[nameEnd]!))
        return this.#fault(NO_NAME, bytes, start, end);
      this.#rememberName(bytes, start, nameEnd);
      this.#lastFound = this.#visitor.find(view, start, nameEnd);
    }
    this.#visit(this.#lastFound, bytes, view, start, skipBlanks(bytes, nameEnd, end), end);
  }

  #rememberName(bytes: Uint8Array, start: number, end: number): void {
    this.#lastLength = end - start;
    if (this.#lastLength > this.#lastName.length) {
      this.#lastName = new Uint8Array(this.#lastLength);
      this.#lastView = new DataView(this.#lastName.buffer);
    }
    for (let i = 0; i < this.#lastLength; i++) this.#lastName[i] = bytes[start + i]!;
  }

  #isLastName(bytes: Uint8Array, view: DataView, start: number, nameEnd: number, end: number): boolean {
    const length = this.#lastLength;
    if (length === 0 || nameEnd >= end || !endsName(bytes[nameEnd]!)) return false;
    return equalBytes(view, start, this.#lastView, 0, length);
  }

  #quotedSample(bytes: Uint8Array, view: DataView, start: number, end: number): void {
    const labels = new LabelSet(this.#limits.maxLabels);
    if (labels.read(bytes, view, start, end, null) < 0) return this.#fault(labels.fault, bytes, start, end);
    if (labels.quotedNameStart < 0) return this.#fault(NO_NAME, bytes, start, end);
    const name = new TextEncoder().encode(labels.quotedName);
    const found = this.#visitor.find(new DataView(name.buffer), 0, name.length);
    this.#visit(found, bytes, view, start, start, end);
  }

  #visit(
    found: N | null,
    bytes: Uint8Array,
    view: DataView,
    lineStart: number,
    start: number,
    end: number,
  ): void {
    if (found === null) this.unwanted++;
    const rule = found === null ? null : this.#visitor.sample(found, bytes, view, start, end);
    if (rule === null) this.recognised++;
    else this.#fault(rule, bytes, lineStart, end);
  }

  #comment(bytes: Uint8Array, view: DataView, start: number, end: number): void {
    this.recognised++;
    const keyword = skipBlanks(bytes, start + 1, end);
    if (isWord(bytes, keyword, end, TYPE))
      this.#type(bytes, view, skipBlanks(bytes, keyword + TYPE.length, end), end);
    else if (keyword + EOF.length === end && isWord(bytes, keyword, end, EOF)) this.ended = true;
  }

  #type(bytes: Uint8Array, view: DataView, start: number, end: number): void {
    const wordEnd = endOfWord(bytes, start, end);
    const quoted = bytes[start] === BYTE.quote && wordEnd - start > 2;
    const family = this.#visitor.findFamily(view, quoted ? start + 1 : start, quoted ? wordEnd - 1 : wordEnd);
    if (family === null) return;
    const typeStart = skipBlanks(bytes, wordEnd, end);
    const type = textOf(bytes, typeStart, endOfWord(bytes, typeStart, end));
    this.#visitor.type(family, TYPES.find((known) => known === type) ?? "untyped");
  }

  #tooLong(bytes: Uint8Array, start: number, end: number): void {
    this.#fault(`a line has at most ${this.#limits.maxLineBytes} bytes`, bytes, start, end);
  }

  #fault(rule: string, bytes: Uint8Array, start: number, end: number): void {
    this.malformed++;
    if (this.firstFault !== null) return;
    const excerpt = textOf(bytes, start, Math.min(end, start + EXCERPT_BYTES));
    this.firstFault = `line ${this.#line}: ${rule}, got ${JSON.stringify(excerpt)}`;
  }
}

function isWord(bytes: Uint8Array, start: number, end: number, word: Uint8Array): boolean {
  for (let i = 0; i < word.length; i++) if (bytes[start + i] !== word[i]) return false;
  return endOfWord(bytes, start, end) === start + word.length;
}

function endsName(byte: number): boolean {
  return byte === BYTE.openBrace || isBlank(byte);
}

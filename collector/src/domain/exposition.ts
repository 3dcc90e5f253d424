// Reader of the Prometheus text format 0.0.4 and OpenMetrics 1.0 as cAdvisor, Envoy and istio-proxy write them. It reads lines as they
// arrive, keeps only wanted families, and never holds more than one line of the page.

export interface Sample {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
  /** Milliseconds since the epoch; null where the page gives none. */
  readonly timestampMs: number | null;
}

export type FamilyType = "counter" | "gauge" | "histogram" | "summary" | "untyped";

/** What a page says, line by line. */
export interface ExpositionVisitor {
  /** Asked once per name that occurs; false spares reading its labels. */
  wants(name: string): boolean;
  type(family: string, type: FamilyType): void;
  sample(sample: Sample): void;
  /** A line that is no metric line; the rest of the page is still read. */
  malformed(line: number, rule: string): void;
}

export interface ExpositionLimits {
  /** Longest line, characters. @default 65536 */
  readonly maxLineLength: number;
  /** Most labels of a sample. @default 64 */
  readonly maxLabels: number;
}

export const DEFAULT_LIMITS: ExpositionLimits = { maxLineLength: 65_536, maxLabels: 64 };

const TYPES: ReadonlySet<string> = new Set(["counter", "gauge", "histogram", "summary", "untyped"]);
const LABEL_NAME = /^[a-zA-Z_][a-zA-Z0-9_]*$/;
const METRIC_NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;

/** Feeds text chunks, split anywhere, to a visitor; call `end` after the last. */
export class ExpositionReader {
  readonly #visitor: ExpositionVisitor;
  readonly #limits: ExpositionLimits;
  readonly #wanted = new Map<string, boolean>();
  #rest = "";
  #skipping = false;
  #line = 0;
  /** Lines that held a sample or a comment, to tell a metrics page from something else. */
  recognised = 0;
  malformed = 0;

  constructor(visitor: ExpositionVisitor, limits: ExpositionLimits = DEFAULT_LIMITS) {
    this.#visitor = visitor;
    this.#limits = limits;
  }

  feed(chunk: string): void {
    let start = 0;
    for (let end = chunk.indexOf("\n"); end >= 0; end = chunk.indexOf("\n", start)) {
      const line = this.#rest === "" ? chunk.slice(start, end) : this.#rest + chunk.slice(start, end);
      this.#rest = "";
      start = end + 1;
      this.#take(line);
    }
    if (start < chunk.length) this.#rest += chunk.slice(start);
    if (this.#rest.length > this.#limits.maxLineLength) {
      // The line is refused now and its remainder skipped, so that a page without line ends can't fill the memory.
      this.#rest = "";
      if (!this.#skipping) this.#fault(`a line has at most ${this.#limits.maxLineLength} characters`);
      this.#skipping = true;
    }
  }

  end(): void {
    if (this.#rest !== "") this.#take(this.#rest);
    this.#rest = "";
  }

  #take(raw: string): void {
    this.#line++;
    if (this.#skipping) {
      this.#skipping = false;
      return;
    }
    const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
    if (line.length > this.#limits.maxLineLength)
      return this.#fault(`a line has at most ${this.#limits.maxLineLength} characters`);
    if (line.trim() === "") return;
    if (line.startsWith("#")) return this.#comment(line);
    this.#sample(line);
  }

  #comment(line: string): void {
    this.recognised++;
    const [, keyword, family, type] = line.split(/\s+/, 4);
    if (keyword === "TYPE" && family !== undefined && type !== undefined)
      this.#visitor.type(family, TYPES.has(type) ? (type as FamilyType) : "untyped");
  }

  #sample(line: string): void {
    const brace = line.indexOf("{");
    const space = line.search(/[ \t]/);
    const nameEnd = brace >= 0 && (space < 0 || brace < space) ? brace : space;
    const name = nameEnd < 0 ? line : line.slice(0, nameEnd);
    if (nameEnd < 0 || !METRIC_NAME.test(name))
      return this.#fault("a sample begins with a metric name and has a value");
    if (!this.#wants(name)) {
      this.recognised++;
      return;
    }
    const labels = new Map<string, string>();
    const after = line[nameEnd] === "{" ? this.#labels(line, nameEnd + 1, labels) : nameEnd;
    if (after < 0) return;
    this.#value(line, after, name, labels);
  }

  #value(line: string, from: number, name: string, labels: ReadonlyMap<string, string>): void {
    // What follows "#" is an OpenMetrics exemplar.
    const [text, time] = line
      .slice(from)
      .split(" # ", 1)[0]!
      .trim()
      .split(/[ \t]+/);
    const value = parseValue(text);
    if (value === null) return this.#fault(`a value must be a number, got ${JSON.stringify(text ?? "")}`);
    const timestampMs = time === undefined ? null : parseTimestamp(time);
    if (timestampMs !== null && !Number.isFinite(timestampMs))
      return this.#fault(`a timestamp must be a number, got ${JSON.stringify(time)}`);
    this.recognised++;
    this.#visitor.sample({ name, labels, value, timestampMs });
  }

  /** Reads `a="b",c="d"}`; the position after the brace, or -1 when malformed. */
  #labels(line: string, from: number, labels: Map<string, string>): number {
    let at = from;
    for (;;) {
      while (line[at] === " " || line[at] === ",") at++;
      if (line[at] === "}") return at + 1;
      const equals = line.indexOf("=", at);
      if (equals < 0) return this.#badLabels("labels must end with }");
      const name = line.slice(at, equals).trim();
      if (!LABEL_NAME.test(name)) return this.#badLabels(`a label name must match ${LABEL_NAME.source}`);
      let quote = equals + 1;
      while (line[quote] === " ") quote++;
      if (line[quote] !== '"') return this.#badLabels("a label value must stand in quotes");
      const end = closingQuote(line, quote + 1);
      if (end < 0) return this.#badLabels("a label value must end with a quote");
      const value = line.slice(quote + 1, end);
      labels.set(name, value.includes("\\") ? unescape(value) : value);
      if (labels.size > this.#limits.maxLabels)
        return this.#badLabels(`a sample has at most ${this.#limits.maxLabels} labels`);
      at = end + 1;
    }
  }

  #badLabels(rule: string): -1 {
    this.#fault(rule);
    return -1;
  }

  #wants(name: string): boolean {
    let wanted = this.#wanted.get(name);
    if (wanted === undefined) {
      wanted = this.#visitor.wants(name);
      // A page with endless distinct names must not fill the memory with answers.
      if (this.#wanted.size < 10_000) this.#wanted.set(name, wanted);
    }
    return wanted;
  }

  #fault(rule: string): void {
    this.malformed++;
    this.#visitor.malformed(this.#line, rule);
  }
}

function closingQuote(line: string, from: number): number {
  for (let at = line.indexOf('"', from); at >= 0; at = line.indexOf('"', at + 1)) {
    let slashes = 0;
    while (line[at - 1 - slashes] === "\\") slashes++;
    if (slashes % 2 === 0) return at;
  }
  return -1;
}

function unescape(value: string): string {
  return value.replace(/\\(.)/g, (_, character: string) => (character === "n" ? "\n" : character));
}

const SPECIAL: Readonly<Record<string, number>> = {
  "+Inf": Infinity,
  Inf: Infinity,
  "-Inf": -Infinity,
  NaN: NaN,
  Nan: NaN,
};

function parseValue(text: string | undefined): number | null {
  if (text === undefined || text === "") return null;
  const special = SPECIAL[text];
  if (special !== undefined) return special;
  const value = Number(text);
  return Number.isNaN(value) ? null : value;
}

/** The text format gives milliseconds, OpenMetrics seconds with a decimal point. */
function parseTimestamp(text: string): number {
  const value = Number(text);
  return text.includes(".") ? value * 1000 : value;
}

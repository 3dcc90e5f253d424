// Parses untrusted YAML. Depth, size and density are checked first, because the YAML parser recurses and
// needs microseconds per word.
import { isUtf8 } from "node:buffer";
import { closeSync, openSync, readSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { isScalar, Lexer, LineCounter, parseAllDocuments, visit } from "yaml";
import type { Document } from "yaml";
import { codeOf, reasonOf } from "@isochrone/primitives";

export interface YamlLimits {
  readonly bytes: number;
  readonly nesting: number;
  /** Words, signs and spaces. Texts of normal density may have more: one per two bytes. */
  readonly lexemes: number;
  readonly isDense?: boolean;
}

export const YAML_LIMITS: YamlLimits = { bytes: 1024 * 1024, nesting: 64, lexemes: 100_000 };

export interface TextProblem {
  readonly kind: "malformed" | "too_large";
  /** 1-based; null: the whole text. */
  readonly line: number | null;
  readonly column: number | null;
  /** Number of the document, 1-based; null: unknown. */
  readonly document: number | null;
  readonly message: string;
}

export class TextError extends Error {
  readonly problem: TextProblem;

  constructor(problem: TextProblem) {
    const { line, message } = problem;
    super(line === null ? message : `line ${line}: ${message}`);
    this.name = "TextError";
    this.problem = problem;
  }
}

/** The lexer's mark for flow collections left open: block collections may follow. */
const FLOW_END = "\u0018";
const MARKS: ReadonlySet<string> = new Set(["\u0002", FLOW_END, "\u001f"]);

class Nesting {
  readonly #open: number[] = [];
  #flow = 0;

  get depth(): number {
    return this.#open.length + this.#flow;
  }

  add(lexeme: string, column: number): void {
    if (lexeme === FLOW_END) this.#flow = 0;
    if (MARKS.has(lexeme)) return;
    if (lexeme === "[" || lexeme === "{") this.#flow++;
    else if (lexeme === "]" || lexeme === "}") this.#flow = Math.max(0, this.#flow - 1);
    if (this.#flow > 0 || /^[\s\ufeff:]*$/.test(lexeme)) return;
    while ((this.#open.at(-1) ?? -1) >= column) this.#open.pop();
    this.#open.push(column);
  }
}

/** Checks the limits in linear time. May overestimate the depth, never underestimate it. */
export function yamlSizeProblem(text: string, limits: YamlLimits): TextProblem | null {
  if (text.length > limits.bytes) return whole(sizeRule(limits.bytes, text.length));
  const most = limits.isDense === true ? limits.lexemes : Math.max(limits.lexemes, text.length / 2);
  const nesting = new Nesting();
  let [lexemes, line, column] = [0, 1, 0];
  for (const lexeme of new Lexer().lex(text)) {
    nesting.add(lexeme, column);
    if (MARKS.has(lexeme)) continue;
    const large = (message: string): TextProblem => ({
      kind: "too_large",
      line,
      column: column + 1,
      document: null,
      message,
    });
    if (nesting.depth > limits.nesting + 1)
      return large(`values must be nested at most ${limits.nesting} deep, got more`);
    if (++lexemes > most)
      return large(`the text must have at most ${Math.floor(most)} words, signs and spaces, got more`);
    const breaks = lexeme.split("\n").length - 1;
    line += breaks;
    column = breaks > 0 ? lexeme.length - lexeme.lastIndexOf("\n") - 1 : column + lexeme.length;
  }
  return null;
}

export interface YamlDocument {
  readonly document: Document.Parsed;
  readonly lines: LineCounter;
  /** Plain values. Throws TextError if aliases expand excessively. */
  readonly json: () => unknown;
}

/** All documents of a YAML or JSON text. Throws TextError. */
export function yamlDocuments(text: string, limits: YamlLimits = YAML_LIMITS): YamlDocument[] {
  const tooLarge = yamlSizeProblem(text, limits);
  if (tooLarge !== null) throw new TextError(tooLarge);
  const lines = new LineCounter();
  // The parser's own check of unique keys takes quadratic time.
  const documents = parseAllDocuments(text, {
    lineCounter: lines,
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: "error",
  });
  if (!Array.isArray(documents)) return [];
  return documents.map((document: Document.Parsed, index) => {
    const [error] = document.errors;
    if (error !== undefined) throw new TextError(malformed(lines, error.pos[0], error.message, index));
    const mistake = firstMistake(document);
    if (mistake !== null) throw new TextError(malformed(lines, mistake.at, mistake.message, index));
    return { document, lines, json: () => jsonOf(document, index) };
  });
}

/** Value of a text with one document; undefined for an empty text. Throws TextError. */
export function yamlValue(text: string, limits: YamlLimits = YAML_LIMITS): unknown {
  const [first, second] = yamlDocuments(text, limits);
  if (second === undefined) return first?.json();
  throw new TextError(whole("the text must hold one document, got several", "malformed"));
}

/** Only checks depth, because JSON's parser is fast. */
export function jsonNestingProblem(root: unknown, nesting: number = YAML_LIMITS.nesting): TextProblem | null {
  // Breadth-first, because recursion would overflow the stack.
  let level: unknown[] = [root];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > nesting) return whole(`values must be nested at most ${nesting} deep, got more`);
    const next: unknown[] = [];
    for (const value of level)
      if (typeof value === "object" && value !== null)
        for (const field of Object.values(value)) if (typeof field === "object") next.push(field);
    level = next;
  }
  return null;
}

/**
 * Reads UTF-8 or UTF-16, plain or gzip. Bounds bytes before and after decompression. Throws TextError or
 * system errors.
 */
export function readTextFile(path: string, bytes: number = YAML_LIMITS.bytes): string {
  const file = openSync(path, "r");
  try {
    const chunks: Buffer[] = [];
    let total = 0;
    for (;;) {
      const chunk = Buffer.allocUnsafe(Math.min(1024 * 1024, bytes + 1));
      const read = readSync(file, chunk);
      if (read === 0) return decodedText(Buffer.concat(chunks), bytes);
      total += read;
      if (total > bytes) throw new TextError(whole(sizeRule(bytes, null)));
      chunks.push(chunk.subarray(0, read));
    }
  } finally {
    closeSync(file);
  }
}

/** Signatures (hexadecimal) of formats without text. */
const FOREIGN: readonly (readonly [string, string])[] = [
  ["504b0304", "a zip archive"],
  ["28b52ffd", "zstd data"],
  ["fd377a58", "xz data"],
  ["425a68", "bzip2 data"],
  ["fffe0000", "UTF-32 text"],
  ["0000feff", "UTF-32 text"],
];

function decodedText(bytes: Buffer, limit: number): string {
  const start = bytes.toString("hex", 0, 4);
  if (start.startsWith("1f8b")) return decodedText(unzipped(bytes, limit), limit);
  const foreign = FOREIGN.find(([magic]) => start.startsWith(magic))?.[1];
  if (foreign !== undefined) throw new TextError(notText(foreign));
  // YAML 1.2, section 5.2: without a byte order mark, the first zero byte tells the encoding.
  if (/^(fffe|(?!00)..00)/.test(start)) return new TextDecoder("utf-16le").decode(bytes);
  if (/^(feff|00(?!00))/.test(start)) return new TextDecoder("utf-16be").decode(bytes);
  if (!isUtf8(bytes)) throw new TextError(notText("other bytes"));
  return new TextDecoder().decode(bytes);
}

function unzipped(bytes: Buffer, limit: number): Buffer {
  try {
    return gunzipSync(bytes, { maxOutputLength: limit });
  } catch (error) {
    if (codeOf(error) === "ERR_BUFFER_TOO_LARGE") throw new TextError(whole(sizeRule(limit, null)));
    throw new TextError(notText(`gzip data that can't be read: ${reasonOf(error)}`));
  }
}

function notText(got: string): TextProblem {
  return whole(`must be text in UTF-8 or UTF-16, plain or in gzip, got ${got}`, "malformed");
}

function sizeRule(limit: number, got: number | null): string {
  return `the text must be at most ${limit} bytes, got ${got ?? "more"}`;
}

function whole(message: string, kind: TextProblem["kind"] = "too_large"): TextProblem {
  return { kind, line: null, column: null, document: null, message };
}

function malformed(lines: LineCounter, offset: number, message: string, index: number): TextProblem {
  const { line, col: column } = lines.linePos(offset);
  const [first = ""] = message.split("\n", 1);
  return { kind: "malformed", line, column, document: index + 1, message: `must be YAML or JSON: ${first}` };
}

/** Mistakes that the parser accepts: duplicate keys and non-finite numbers. */
function firstMistake(document: Document.Parsed): { message: string; at: number } | null {
  let found: { message: string; at: number } | null = null;
  visit(document, {
    Map(_, map) {
      const keys = new Set<unknown>();
      for (const { key } of map.items) {
        if (!isScalar(key)) continue;
        if (keys.has(key.value)) {
          const message = `Map keys must be unique, got ${shortened(key.value)} twice`;
          found = { message, at: key.range?.[0] ?? 0 };
          return visit.BREAK;
        }
        keys.add(key.value);
      }
      return undefined;
    },
    Scalar(_, { value, source, range }) {
      if (typeof value !== "number" || Number.isFinite(value)) return undefined;
      found = { message: `numbers must be finite, got ${shortened(source ?? value)}`, at: range?.[0] ?? 0 };
      return visit.BREAK;
    },
  });
  return found;
}

function shortened(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

function jsonOf(document: Document.Parsed, index: number): unknown {
  try {
    return document.toJS();
  } catch (error) {
    const message = reasonOf(error);
    throw new TextError({ ...whole(`can't be read: ${message}`), document: index + 1 });
  }
}

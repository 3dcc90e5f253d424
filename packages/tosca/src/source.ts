// Text into plain values, within bounds, and the way back from a value to its line.
import { yamlSizeProblem } from "@isochrone/runtime";
import { isAlias, isMap, isNode, isPair, isScalar, isSeq, LineCounter, parseDocument } from "yaml";
import type { Alias, Document, Node } from "yaml";
import { ToscaError, type ToscaErrorCode, type ToscaPosition } from "./errors.ts";

export type Path = readonly (string | number)[];

/** A parsed file. */
export interface Source {
  readonly file: string;
  /** Plain values; parts may be shared (aliases), so none may be changed. */
  readonly root: unknown;
  /** Of the value, or of the nearest thing around it that has a place. Slow: for errors. */
  positionOf(path: Path): { readonly line: number; readonly column: number } | null;
}

/**
 * What is read at most. A service template of 100 services is about 100 kB; Puccini's JSON is about 50 kB for
 * each service.
 */
export const LIMITS = {
  yamlBytes: 2 * 1024 * 1024,
  /** Words, signs and spaces between them. */
  yamlLexemes: 400_000,
  jsonBytes: 32 * 1024 * 1024,
  /** Of one file, aliases spelled out. */
  values: 500_000,
  nesting: 100,
  /** A template and what it imports. */
  files: 64,
  /** Imports of all files together, those of missing files included. */
  imports: 1_000,
} as const;

/** Reads YAML or JSON. Throws ToscaError. */
export function parseSource(text: string, file: string): Source {
  const isJson = text.trimStart().startsWith("{");
  checkSize(text.length, isJson ? LIMITS.jsonBytes : LIMITS.yamlBytes, file);
  if (isJson) {
    const root = jsonOf(text);
    if (root !== undefined) {
      checkJson(root, file);
      return { file, root, positionOf: (path) => positionInJson(text, path) };
    }
    // YAML's flow style, or wrong: YAML's parser tells, with the line.
    checkSize(text.length, LIMITS.yamlBytes, file);
  }
  return parseYaml(text, file);
}

/** Before a file is read whole. */
export function checkSize(bytes: number, limit: number, file: string): void {
  if (bytes <= limit) return;
  const hint = limit === LIMITS.yamlBytes ? "; JSON may be larger" : "";
  throw new ToscaError(
    "too_large",
    { file, line: null, column: null },
    `the file must be at most ${limit / 1024 / 1024} MiB, got ${(bytes / 1024 / 1024).toFixed(1)} MiB${hint}`,
  );
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Level by level: a deep value would fill the stack. */
function checkJson(root: unknown, file: string): void {
  let level: unknown[] = [root];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > LIMITS.nesting) throw nestedTooDeep({ file, line: null, column: null });
    const endless = level.find(isEndless);
    if (endless !== undefined)
      throw new ToscaError("malformed", { file, line: null, column: null }, finiteRule(endless));
    level = level.flatMap((value) =>
      typeof value === "object" && value !== null ? Object.values(value) : [],
    );
  }
}

function isEndless(value: unknown): value is number {
  return typeof value === "number" && !Number.isFinite(value);
}

function finiteRule(got: unknown): string {
  return `numbers must be finite, got ${String(got)}`;
}

/** Only of files for which YAML's parser doesn't take long. */
function positionInJson(text: string, path: Path): { line: number; column: number } | null {
  if (text.length > LIMITS.yamlBytes) return null;
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: false, prettyErrors: false });
  return positionIn(document, lines, path, new Map());
}

function parseYaml(text: string, file: string): Source {
  checkBounds(text, file);
  const lines = new LineCounter();
  // Its own check of unique keys takes a time that grows with their square; Values does it.
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: false, prettyErrors: false });
  // yaml 2.9 says IMPOSSIBLE of a list or map as a key after another key, and reads it well.
  const error = document.errors.find(({ code }) => code !== "IMPOSSIBLE");
  if (error !== undefined) {
    const { line, col: column } = lines.linePos(error.pos[0]);
    throw new ToscaError(
      "malformed",
      { file, line, column },
      `must be YAML or JSON: ${error.message.split("\n", 1)[0]}`,
    );
  }
  const values = new Values(file, lines);
  const root = values.of(document.contents);
  return { file, root, positionOf: (path) => positionIn(document, lines, path, values.targets) };
}

/** The parser calls itself for each level: how deep the text is must be known before. */
function checkBounds(text: string, file: string): void {
  const problem = yamlSizeProblem(text, {
    bytes: LIMITS.yamlBytes,
    nesting: LIMITS.nesting,
    lexemes: LIMITS.yamlLexemes,
    isDense: true,
  });
  if (problem === null) return;
  const { line, column, message } = problem;
  throw new ToscaError("too_large", { file, line, column }, message);
}

function nestedTooDeep(position: ToscaPosition): ToscaError {
  return new ToscaError(
    "too_large",
    position,
    `values must be nested at most ${LIMITS.nesting} deep, got more`,
  );
}

/** The nodes of a document as plain values. */
class Values {
  /** What each alias stands for. */
  readonly targets = new Map<Alias, Node>();
  readonly #file: string;
  readonly #lines: LineCounter;
  readonly #anchors = new Map<string, { node: Node; value: unknown; size: number } | null>();
  #size = 0;

  constructor(file: string, lines: LineCounter) {
    this.#file = file;
    this.#lines = lines;
  }

  of(node: unknown): unknown {
    this.#count(1, node);
    if (isAlias(node)) return this.#aliased(node);
    const anchor = isMap(node) || isSeq(node) || isScalar(node) ? node.anchor : undefined;
    if (anchor === undefined) return this.#plain(node);
    // Known as unfinished: an alias inside it would make it endless.
    this.#anchors.set(anchor, null);
    const before = this.#size;
    const value = this.#plain(node);
    this.#anchors.set(anchor, { node: node as Node, value, size: this.#size - before });
    return value;
  }

  #plain(node: unknown): unknown {
    if (isSeq(node)) return node.items.map((item) => this.of(item));
    if (isMap(node)) return this.#map(node);
    // An entry of !!omap or !!pairs.
    if (isPair(node)) return this.#map({ items: [node] });
    if (!isScalar(node)) return null;
    if (isEndless(node.value)) throw this.#error("malformed", finiteRule(node.source ?? node.value), node);
    // Dates and binaries of YAML's tags are texts in TOSCA.
    return typeof node.value === "object" && node.value !== null ? (node.source ?? "") : node.value;
  }

  #map(node: { readonly items: readonly { readonly key: unknown; readonly value: unknown }[] }): object {
    const entries = new Map<string, unknown>();
    const merged = new Map<string, unknown>();
    for (const { key, value } of node.items) {
      const name = keyText(key, this.of(key));
      if (name === "<<") {
        for (const [each, inner] of this.#merged(value)) if (!merged.has(each)) merged.set(each, inner);
      } else if (entries.has(name)) {
        throw this.#error("malformed", `${JSON.stringify(name)} must not be there twice`, key);
      } else entries.set(name, this.of(value));
    }
    return Object.fromEntries(merged.size === 0 ? entries : new Map([...merged, ...entries]));
  }

  /** YAML 1.1's merge key, which TOSCA's own examples use. */
  #merged(value: unknown): readonly [string, unknown][] {
    const plain = this.of(value);
    return (Array.isArray(plain) ? plain : [plain]).flatMap((map: unknown) => {
      if (typeof map !== "object" || map === null || Array.isArray(map))
        throw this.#error("malformed", "<< must name a map or a list of maps", value);
      const entries = Object.entries(map);
      this.#count(entries.length, value);
      return entries;
    });
  }

  #aliased(alias: Alias): unknown {
    const target = this.#anchors.get(alias.source);
    if (target === undefined)
      throw this.#error("unresolved", `*${alias.source} must name an anchor that comes before it`, alias);
    if (target === null)
      throw this.#error("circular", `*${alias.source} must not be a part of itself`, alias);
    this.targets.set(alias, target.node);
    this.#count(target.size, alias);
    return target.value;
  }

  #count(values: number, node: unknown): void {
    this.#size += values;
    if (this.#size > LIMITS.values)
      throw this.#error(
        "too_large",
        `the file must have at most ${LIMITS.values} values, aliases spelled out`,
        node,
      );
  }

  #error(code: ToscaErrorCode, rule: string, node: unknown): ToscaError {
    const offset = offsetOf(node);
    const { line, col: column } = offset === null ? { line: null, col: null } : this.#lines.linePos(offset);
    return new ToscaError(code, { file: this.#file, line, column }, rule);
  }
}

function positionIn(
  document: Document,
  lines: LineCounter,
  path: Path,
  targets: ReadonlyMap<Alias, Node>,
): { line: number; column: number } | null {
  let node: unknown = document.contents;
  let offset = offsetOf(document.contents);
  for (const key of path) {
    if (isAlias(node)) node = targets.get(node);
    const found = childOf(node, key);
    if (found === null) break;
    node = found.value;
    offset = offsetOf(node) ?? offsetOf(found.key) ?? offset;
  }
  if (offset === null) return null;
  const { line, col: column } = lines.linePos(offset);
  return { line, column };
}

function childOf(node: unknown, key: string | number): { key: unknown; value: unknown } | null {
  if (isSeq(node)) {
    const item = node.items[Number(key)];
    return item === undefined ? null : { key: null, value: item };
  }
  if (!isMap(node)) return null;
  const pair = node.items.find((each) => isScalar(each.key) && keyText(each.key, each.key.value) === key);
  return pair === undefined ? null : pair;
}

/**
 * A key as a text: numbers as they are written (`1.10`), lists and maps in flow style, as
 * `[CAPABILITY, endpoint, port]`.
 */
function keyText(key: unknown, value: unknown): string {
  if (typeof value === "string") return value;
  // The merge key of YAML 1.1.
  if (typeof value === "symbol") return "<<";
  if (isScalar(key) && typeof key.value !== "object" && key.source !== undefined) return key.source;
  return flowText(value, KEY_CHARACTERS);
}

/** Longer keys are cut: shared parts may make a text much larger than the file. */
const KEY_CHARACTERS = 1000;

function flowText(value: unknown, room: number): string {
  if (typeof value !== "object" || value === null) return String(value).slice(0, room);
  const isArray = Array.isArray(value);
  let inner = "";
  for (const [key, each] of Object.entries(value)) {
    if (inner.length >= room) break;
    const text = flowText(each, room - inner.length);
    inner += `${inner === "" ? "" : ", "}${isArray ? text : `${key}: ${text}`}`;
  }
  return isArray ? `[${inner}]` : `{${inner}}`;
}

function offsetOf(node: unknown): number | null {
  return isNode(node) ? (node.range?.[0] ?? null) : null;
}

// Parses text into plain values within bounds, and maps values back to lines.
import { yamlSizeProblem } from "@isochrone/runtime";
import { isAlias, isMap, isNode, isPair, isScalar, isSeq, LineCounter, parseDocument } from "yaml";
import type { Alias, Document, Node } from "yaml";
import { ToscaError, type ToscaErrorCode, type ToscaPosition } from "./errors.ts";

export type Path = readonly (string | number)[];

export interface Source {
  readonly file: string;
  /** Plain values, possibly shared (aliases): do not modify. */
  readonly root: unknown;
  /** Position of the value or its nearest located ancestor. Slow: for errors. */
  positionOf(path: Path): { readonly line: number; readonly column: number } | null;
}

/**
 * Input limits. A service template of 100 services has about 100 kB; Puccini's JSON about 50 kB per service.
 */
export const LIMITS = {
  yamlBytes: 2 * 1024 * 1024,
  /** Words, signs and the spaces between them. */
  yamlLexemes: 400_000,
  jsonBytes: 32 * 1024 * 1024,
  /** Per file, with aliases expanded. */
  values: 500_000,
  nesting: 100,
  files: 64,
  /** Over all files, including missing ones. */
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
    // YAML flow style or an error: YAML's parser tells, with the line.
    checkSize(text.length, LIMITS.yamlBytes, file);
  }
  return parseYaml(text, file);
}

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

/** Breadth-first: deep values would overflow the stack. */
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

/** Only for files that YAML's parser handles quickly. */
function positionInJson(text: string, path: Path): { line: number; column: number } | null {
  if (text.length > LIMITS.yamlBytes) return null;
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: false, prettyErrors: false });
  return positionIn(document, lines, path, new Map());
}

function parseYaml(text: string, file: string): Source {
  checkBounds(text, file);
  const lines = new LineCounter();
  // The parser's unique-key check takes quadratic time; Values does it.
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: false, prettyErrors: false });
  // yaml 2.9 reports IMPOSSIBLE for a list or map as a key after another key, but reads it correctly.
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

/** The parser is recursive, so depth must be checked first. */
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

class Values {
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
    // Unfinished: an alias inside would be endless.
    this.#anchors.set(anchor, null);
    const before = this.#size;
    const value = this.#plain(node);
    this.#anchors.set(anchor, { node: node as Node, value, size: this.#size - before });
    return value;
  }

  #plain(node: unknown): unknown {
    if (isSeq(node)) return node.items.map((item) => this.of(item));
    if (isMap(node)) return this.#map(node);
    if (isPair(node)) return this.#map({ items: [node] });
    if (!isScalar(node)) return null;
    if (isEndless(node.value)) throw this.#error("malformed", finiteRule(node.source ?? node.value), node);
    // YAML's dates and binaries are texts in TOSCA.
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

  /** YAML 1.1's merge key, used in TOSCA's own examples. */
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
 * Key as text: numbers as written (`1.10`), lists and maps in flow style, such as `[CAPABILITY, endpoint,
 * port]`.
 */
function keyText(key: unknown, value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "symbol") return "<<";
  if (isScalar(key) && typeof key.value !== "object" && key.source !== undefined) return key.source;
  return flowText(value, KEY_CHARACTERS);
}

/** Truncates longer keys: shared parts may expand to much more text than the file. */
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

// A field of a scenario file that remembers its line for mistakes. After a mistake, reading continues with a
// valid value, so that one run lists all mistakes.
import { parseBytes, parseMillicores } from "@isochrone/primitives";
import { isAlias, isMap, isScalar, isSeq } from "yaml";
import type { Document, LineCounter, Node } from "yaml";
import type { ScenarioIssue } from "./errors.ts";

export interface Sheet {
  readonly document: Document;
  readonly lines: LineCounter;
  readonly issues: ScenarioIssue[];
}

/** Values of the axes at a point, which replace `$name`. */
export type AxisNodes = ReadonlyMap<string, Node>;

interface NumberRule {
  readonly min?: number;
  /** Exclusive minimum. */
  readonly above?: number;
  readonly max?: number;
  readonly whole?: boolean;
}

const REFERENCE = /^\$([a-z][a-zA-Z0-9]*)$/;
const DURATION_SECONDS: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3600 };

export class Field {
  readonly path: string;
  readonly #sheet: Sheet;
  readonly #axes: AxisNodes;
  readonly #node: Node | null;
  /** Overriding field if present, such as the same part of `quick`. */
  readonly #over: Field | null;
  readonly #parentLine: number;

  constructor(
    sheet: Sheet,
    node: Node | null,
    path: string,
    axes: AxisNodes,
    parentLine = 1,
    over: Field | null = null,
  ) {
    this.#sheet = sheet;
    this.path = path;
    this.#axes = axes;
    this.#parentLine = parentLine;
    this.#over = over?.isPresent === true ? over : null;
    this.#node = this.#resolved(node);
  }

  get line(): number {
    if (this.#over !== null && !this.isMap) return this.#over.line;
    const start = this.#node?.range?.[0];
    return start === undefined ? this.#parentLine : this.#sheet.lines.linePos(start).line;
  }

  get isPresent(): boolean {
    if (this.#over !== null) return true;
    return this.#node !== null && !(isScalar(this.#node) && this.#node.value === null);
  }

  get isMap(): boolean {
    return isMap(this.#node) && (this.#over === null || this.#over.isMap);
  }

  get isList(): boolean {
    return isSeq(this.#chosen);
  }

  /** Effective node, for axes. */
  get node(): Node | null {
    return this.#chosen;
  }

  /** Returns the base value of a key that `quick` overrides: `quick` selects axis labels by name. */
  baseValue(key: string): Node | null {
    return isMap(this.#node) ? ((this.#node.get(key, true) as Node | undefined) ?? null) : null;
  }

  over(field: Field): Field {
    return new Field(this.#sheet, this.#node, this.path, this.#axes, this.#parentLine, field);
  }

  withAxes(axes: AxisNodes): Field {
    return new Field(this.#sheet, this.#node, this.path, axes, this.#parentLine, this.#over?.withAxes(axes));
  }

  get(key: string): Field {
    const path = this.path === "" ? key : `${this.path}.${key}`;
    const mine = isMap(this.#node) ? (this.#node.get(key, true) as Node | undefined) : undefined;
    const over = this.#over?.isMap === true ? this.#over.get(key) : null;
    return new Field(this.#sheet, mine ?? null, path, this.#axes, this.line, over);
  }

  /** Refuses other keys, since a misspelt key would have no effect. */
  map(...keys: readonly string[]): this {
    if (!this.isPresent) this.fail("must be given");
    else if (!this.isMap) this.fail(`must be a mapping, got ${this.#shown()}`);
    for (const key of this.keys())
      if (!keys.includes(key)) this.get(key).fail(`is not known; known here: ${keys.join(", ")}`);
    return this;
  }

  keys(): readonly string[] {
    const own = isMap(this.#node) ? this.#node.items.map((pair) => String(pair.key)) : [];
    return [...new Set([...own, ...(this.#over?.keys() ?? [])])];
  }

  list(): readonly Field[] {
    const node = this.#chosen;
    if (!this.isPresent) return [];
    if (isSeq(node))
      return node.items.map(
        (item, index) =>
          new Field(this.#sheet, item as Node, `${this.path}[${index}]`, this.#axes, this.line),
      );
    this.fail(`must be a list, got ${this.#shown()}`);
    return [];
  }

  someList(): readonly Field[] {
    const items = this.list();
    if (items.length === 0 && (!this.isPresent || this.isList))
      this.fail(`must have at least one element, got ${this.isPresent ? "none" : "nothing"}`);
    return items;
  }

  number(rule: NumberRule = {}): number {
    const value = this.#scalar();
    if (typeof value !== "number" || !Number.isFinite(value))
      return this.#wrong(`must be a number${ruleText(rule)}`, fitting(rule));
    const isRight =
      value >= (rule.min ?? -Infinity) &&
      value > (rule.above ?? -Infinity) &&
      value <= (rule.max ?? Infinity) &&
      (rule.whole !== true || Number.isInteger(value));
    return isRight ? value : this.#wrong(`must be a number${ruleText(rule)}`, fitting(rule));
  }

  numberOr<T>(otherwise: T, rule: NumberRule = {}): number | T {
    return this.isPresent ? this.number(rule) : otherwise;
  }

  text(): string {
    const value = this.#scalar();
    if (typeof value === "string" && value.trim() !== "") return value.trim();
    if (typeof value === "number") return String(value);
    return this.#wrong("must be text", "");
  }

  isText(text: string): boolean {
    return this.#scalar() === text;
  }

  textOr<T>(otherwise: T): string | T {
    return this.isPresent ? this.text() : otherwise;
  }

  oneOf<T extends string>(values: readonly T[]): T {
    const value = this.#scalar();
    const found = values.find((candidate) => candidate === value);
    return found ?? this.#wrong(`must be one of ${values.join(", ")}`, values[0]!);
  }

  /** `30s`, `40m`, `500ms`; returns seconds. */
  seconds(rule: NumberRule = { min: 0 }): number {
    const value = this.#scalar();
    const [, number, unit] = /^(-?\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(String(value)) ?? [];
    if (number === undefined) return this.#wrong("must be a duration such as 30s or 40m", fitting(rule));
    const seconds = Number(number) * DURATION_SECONDS[unit!]!;
    if (seconds < (rule.min ?? -Infinity) || seconds <= (rule.above ?? -Infinity))
      return this.#wrong(`must be a duration${ruleText(rule)}`, fitting(rule));
    return seconds;
  }

  cpuMillicores(): number {
    const amount = parseMillicores(this.#scalar());
    return amount !== null && amount > 0
      ? amount
      : this.#wrong("must be an amount of CPU above 0, such as 2 or 500m", 1);
  }

  memoryBytes(): number {
    const amount = parseBytes(this.#scalar());
    return amount !== null && amount > 0
      ? amount
      : this.#wrong("must be an amount of memory above 0, such as 512Mi", 1);
  }

  fail(rule: string): void {
    const subject = this.path === "" ? "the scenario" : this.path;
    const message = `${subject} ${rule}`;
    const { line } = this;
    // Every point reads the field again; report a mistake once.
    if (!this.#sheet.issues.some((issue) => issue.line === line && issue.message === message))
      this.#sheet.issues.push({ line, message });
  }

  #wrong<T>(rule: string, otherwise: T): T {
    this.fail(`${rule}, got ${this.#shown()}`);
    return otherwise;
  }

  get #chosen(): Node | null {
    return this.#over === null ? this.#node : this.#over.#chosen;
  }

  #scalar(): unknown {
    const node = this.#chosen;
    return isScalar(node) ? node.value : node === null ? undefined : node;
  }

  #shown(): string {
    const value = this.#scalar();
    if (value === undefined || value === null) return "nothing";
    return typeof value === "object" ? (isSeq(value) ? "a list" : "a mapping") : JSON.stringify(value);
  }

  #resolved(node: Node | null): Node | null {
    if (isAlias(node))
      return this.#resolved((node.resolve(this.#sheet.document) as Node | undefined) ?? null);
    if (!isScalar(node) || typeof node.value !== "string") return node;
    const [, name] = REFERENCE.exec(node.value) ?? [];
    if (name === undefined) return node;
    const value = this.#axes.get(name);
    if (value !== undefined) return value;
    const line = this.#sheet.lines.linePos(node.range?.[0] ?? 0).line;
    const message = `${this.path} must name an axis, got ${node.value}; axes: ${[...this.#axes.keys()].join(", ") || "none"}`;
    if (!this.#sheet.issues.some((issue) => issue.message === message))
      this.#sheet.issues.push({ line, message });
    return null;
  }
}

function ruleText({ min, above, max, whole }: NumberRule): string {
  const parts = [
    whole === true ? "whole" : "",
    above === undefined ? "" : `above ${above}`,
    min === undefined ? "" : `of at least ${min}`,
    max === undefined ? "" : `of at most ${max}`,
  ].filter((part) => part !== "");
  return parts.length === 0 ? "" : ` (${parts.join(", ")})`;
}

function fitting({ min, above, max }: NumberRule): number {
  return min ?? (above === undefined ? (max ?? 1) : Math.min(above + 1, max ?? Infinity));
}

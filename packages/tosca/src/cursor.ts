import { isRecord } from "@isochrone/primitives";
import { shown, ToscaError, type ToscaErrorCode } from "./errors.ts";
import type { Path, Source } from "./source.ts";

export class Cursor {
  readonly source: Source;
  readonly path: Path;
  readonly value: unknown;

  constructor(source: Source, value: unknown = source.root, path: Path = []) {
    this.source = source;
    this.value = value;
    this.path = path;
  }

  get(key: string): Cursor | null {
    const { value } = this;
    if (!isRecord(value) || !Object.hasOwn(value, key)) return null;
    const inner = value[key];
    return inner === undefined || inner === null ? null : this.#at(key, inner);
  }

  either(...keys: readonly string[]): Cursor | null {
    for (const key of keys) {
      const found = this.get(key);
      if (found !== null) return found;
    }
    return null;
  }

  entries(): [string, Cursor][] {
    const { value } = this;
    if (value === null || value === undefined) return [];
    if (!isRecord(value)) throw this.fail("must be a map");
    return Object.entries(value).map(([key, inner]) => [key, this.#at(key, inner)]);
  }

  items(): Cursor[] {
    const { value } = this;
    if (value === null || value === undefined) return [];
    if (!Array.isArray(value)) throw this.fail("must be a list");
    return value.map((inner: unknown, index) => this.#at(index, inner));
  }

  children(): Cursor[] {
    return Array.isArray(this.value) ? this.items() : this.entries().map(([, inner]) => inner);
  }

  get isMap(): boolean {
    return isRecord(this.value);
  }

  map(): Cursor {
    if (!this.isMap) throw this.fail("must be a map");
    return this;
  }

  /** A non-empty text. Throws ToscaError. */
  text(): string {
    const { value } = this;
    if (typeof value !== "string" || value === "") {
      const hint = typeof value === "number" || typeof value === "boolean" ? " (in quotes)" : "";
      throw this.fail(`must be a text${hint}`);
    }
    return value;
  }

  /** A finite, nonnegative number. Throws ToscaError. */
  amount(): number {
    const { value } = this;
    if (typeof value !== "number" || !Number.isFinite(value) || value < 0)
      throw this.fail("must be a number of at least 0");
    return value;
  }

  fail(rule: string, code: ToscaErrorCode = "malformed"): ToscaError {
    return this.error(code, `${rule}, got ${shown(this.value)}`);
  }

  /** As `fail`, without showing the value. */
  error(code: ToscaErrorCode, rule: string): ToscaError {
    const { source, path } = this;
    const { line, column } = source.positionOf(path) ?? { line: null, column: null };
    const subject = path.length === 0 ? "the document" : path.join(".");
    return new ToscaError(code, { file: source.file, line, column }, `${subject} ${rule}`);
  }

  with(value: unknown): Cursor {
    return new Cursor(this.source, value, this.path);
  }

  #at(key: string | number, value: unknown): Cursor {
    return new Cursor(this.source, value, [...this.path, key]);
  }
}

export type Fields = Readonly<Record<string, unknown>>;

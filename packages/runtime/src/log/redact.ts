import { REDACTED, Secret } from "../settings/secret.ts";

const SECRET_NAME =
  /authorization|cookie|passw(or)?d|passphrase|secret|token|credential|(api|private|client|tls|signing|encryption|access)[-_]?key|key[-_]?(pem|data|material)|sasl/i;
const PRIVATE_KEY_TEXT = /-----BEGIN [A-Z ]*PRIVATE KEY-----/;
const MAX_DEPTH = 6;
const MAX_ITEMS = 100;
const MAX_CAUSES = 8;

/**
 * Makes fields safe for a log line: redacts text under secret-like names, converts errors to objects with
 * causes and bigint to text, bounds depth and length. Never throws.
 */
export function printableFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return printableObject(fields, 0, new Set());
}

function printableError(error: Error): Record<string, unknown> {
  const seen = new Set<unknown>();
  let root: Record<string, unknown> | null = null;
  let parent: Record<string, unknown> | null = null;
  for (let current: unknown = error; current !== undefined && !seen.has(current);) {
    seen.add(current);
    const plain: unknown =
      current instanceof Error ? describeError(current) : printable(current, 0, new Set());
    if (parent === null) root = plain as Record<string, unknown>;
    else parent["cause"] = plain;
    if (!(current instanceof Error) || seen.size >= MAX_CAUSES) break;
    parent = plain as Record<string, unknown>;
    current = current.cause;
  }
  return { ...root, ...(error.stack === undefined ? {} : { stack: scrub(error.stack) }) };
}

function describeError(error: Error): Record<string, unknown> {
  const code: unknown = Reflect.get(error, "code");
  const errors = error instanceof AggregateError ? error.errors.slice(0, MAX_CAUSES) : [];
  return {
    type: error.name,
    message: scrub(error.message),
    ...(typeof code === "string" || typeof code === "number" ? { code } : {}),
    ...(errors.length === 0
      ? {}
      : {
          errors: errors.map((inner: unknown) =>
            inner instanceof Error ? scrub(inner.message) : String(inner),
          ),
        }),
  };
}

function printable(value: unknown, depth: number, parents: ReadonlySet<unknown>): unknown {
  if (typeof value !== "object" || value === null) return printableScalar(value);
  const leaf = printableLeaf(value);
  if (leaf !== undefined) return leaf;
  if (parents.has(value)) return "[circular]";
  if (depth >= MAX_DEPTH) return "[deep]";
  const within = new Set(parents).add(value);
  if (value instanceof Map) return printableObject(Object.fromEntries(value), depth + 1, within);
  if (Array.isArray(value) || value instanceof Set) return printableList([...value], depth + 1, within);
  return printableObject(value as Record<string, unknown>, depth + 1, within);
}

function printableScalar(value: unknown): unknown {
  if (typeof value === "string") return scrub(value);
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "function" || typeof value === "symbol") return `[${typeof value}]`;
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  return value;
}

function printableLeaf(value: object): unknown {
  if (value instanceof Error) return printableError(value);
  if (value instanceof Secret) return REDACTED;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "invalid date" : value.toISOString();
  return ArrayBuffer.isView(value) ? `[${value.byteLength} bytes]` : undefined;
}

function printableList(items: readonly unknown[], depth: number, parents: ReadonlySet<unknown>): unknown[] {
  const shown = items.slice(0, MAX_ITEMS).map((item) => printable(item, depth, parents));
  if (items.length > MAX_ITEMS) shown.push(`[${items.length - MAX_ITEMS} more]`);
  return shown;
}

function printableObject(
  fields: Readonly<Record<string, unknown>>,
  depth: number,
  parents: ReadonlySet<unknown>,
): Record<string, unknown> {
  const plain: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields).slice(0, MAX_ITEMS))
    plain[name] = SECRET_NAME.test(name) && holdsText(value) ? REDACTED : printable(value, depth, parents);
  return plain;
}

// Only text is hidden: tokenCount: 3 isn't a secret.
function holdsText(value: unknown): boolean {
  return typeof value === "string" || (typeof value === "object" && value !== null);
}

function scrub(text: string): string {
  return PRIVATE_KEY_TEXT.test(text) ? REDACTED : text;
}

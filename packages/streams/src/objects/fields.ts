// Reads untyped fields of FlowNetworks and StreamJobs from files or clusters.

export type FieldPath = readonly (string | number)[];

/** Thrown for an invalid field. The message names place, rule and value. */
export class FieldError extends Error {
  readonly path: FieldPath;
  readonly rule: string;
  readonly value: unknown;

  constructor(path: FieldPath, rule: string, value: unknown) {
    super(`${path.join(".")} ${rule}, got ${shown(value)}`);
    this.name = "FieldError";
    this.path = path;
    this.rule = rule;
    this.value = value;
  }
}

const SHOWN_CHARACTERS = 80;

function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  const text = JSON.stringify(value) ?? typeof value;
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
}

export function listAt(path: FieldPath, value: unknown, most = Infinity): readonly unknown[] {
  if (!Array.isArray(value)) throw new FieldError(path, "must be a list", value);
  if (value.length > most) throw new FieldError(path, `must have at most ${most} entries`, value.length);
  return value;
}

export function textAt(path: FieldPath, value: unknown): string {
  if (typeof value !== "string" || value === "") throw new FieldError(path, "must be text", value);
  return value;
}

export function numberAt(path: FieldPath, value: unknown): number {
  if (typeof value !== "number") throw new FieldError(path, "must be a number", value);
  return value;
}

export function positiveAt(path: FieldPath, value: unknown): number | null {
  if (value === undefined || value === null) return null;
  const number = numberAt(path, value);
  if (number > 0 && number <= Number.MAX_SAFE_INTEGER) return number;
  throw new FieldError(path, "must be above 0 and at most 2^53 - 1", value);
}

export function portAt(path: FieldPath, value: unknown): number | null {
  if (value === undefined || value === null) return null;
  const port = numberAt(path, value);
  if (Number.isInteger(port) && port >= 1 && port <= 65_535) return port;
  throw new FieldError(path, "must be a port from 1 to 65535", value);
}

const TOSCA_ERROR_CODES = [
  "malformed",
  /** Exceeds limits on bytes, files, values or nesting. */
  "too_large",
  /** Valid TOSCA outside the supported subset. */
  "unsupported",
  /** Reference to something missing. */
  "unresolved",
  /** Cyclic imports, derived_from or get_property. */
  "circular",
  "invalid_value",
  /** Invalid input value or name given beside the template. */
  "invalid_option",
] as const;
export type ToscaErrorCode = (typeof TOSCA_ERROR_CODES)[number];

export interface ToscaPosition {
  readonly file: string;
  readonly line: number | null;
  readonly column: number | null;
}

/**
 * Thrown for an unreadable template; the message has one line per mistake with file, line, column, path, rule
 * and value. Fields describe the first one, preferring mistakes in the template itself.
 */
export class ToscaError extends Error {
  readonly code: ToscaErrorCode;
  readonly position: ToscaPosition;
  readonly rule: string;

  static of(mistakes: readonly ToscaError[]): ToscaError {
    const first = mistakes.find(({ code }) => code !== "invalid_option") ?? mistakes[0]!;
    if (mistakes.length === 1) return first;
    const all = new ToscaError(first.code, first.position, first.rule, { cause: first });
    all.message = mistakes.map(({ message }) => message).join("\n");
    return all;
  }

  constructor(code: ToscaErrorCode, position: ToscaPosition, rule: string, options?: ErrorOptions) {
    const { file, line, column } = position;
    const where = [file, line, column].filter((part) => part !== null).join(":");
    super(`${where}: ${rule}`, options);
    this.name = "ToscaError";
    this.code = code;
    this.position = position;
    this.rule = rule;
  }
}

const SHOWN_CHARACTERS = 80;

export function shown(value: unknown): string {
  if (value === undefined || value === null) return "nothing";
  if (typeof value === "object") return Array.isArray(value) ? `a list of ${value.length}` : mapText(value);
  const text = JSON.stringify(value) ?? typeof value;
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
}

/** Truncated: shared parts may expand to much more text than the file. */
function mapText(value: object): string {
  const keys = Object.keys(value);
  if (keys.length === 0) return "an empty map";
  const few = keys.slice(0, 3).map((key) => key.slice(0, 20));
  return `a map of ${few.join(", ")}${keys.length > few.length ? ", …" : ""}`;
}

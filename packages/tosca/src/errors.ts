/** Codes of the errors that reading a template throws. */
const TOSCA_ERROR_CODES = [
  /** Neither YAML nor JSON, or not of the shape that TOSCA or Clout asks for. */
  "malformed",
  /** More than is read: bytes, files, values, nesting. */
  "too_large",
  /** Right in TOSCA, but beyond the subset that is read. */
  "unsupported",
  /** Names something that isn't there. */
  "unresolved",
  /** Leads back to itself: imports, derived_from, get_property. */
  "circular",
  /** Of the right shape, and against a rule. */
  "invalid_value",
  /** Given beside the template: a value of an input, or a name. */
  "invalid_option",
] as const;
export type ToscaErrorCode = (typeof TOSCA_ERROR_CODES)[number];

/** Where in a file something is wrong. */
export interface ToscaPosition {
  readonly file: string;
  /** Counted from 1; null when not known. */
  readonly line: number | null;
  readonly column: number | null;
}

/**
 * Thrown when a template can't be read; the message names file, line, column, path, rule and value, a line
 * for each mistake. The fields are those of the first one, in the template if there is one there.
 */
export class ToscaError extends Error {
  readonly code: ToscaErrorCode;
  readonly position: ToscaPosition;
  /** Without file, line and column. */
  readonly rule: string;

  /** One error for all of them: itself where it is one. */
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

/** A value for a message: short, and recognisable. */
export function shown(value: unknown): string {
  if (value === undefined || value === null) return "nothing";
  if (typeof value === "object") return Array.isArray(value) ? `a list of ${value.length}` : mapText(value);
  const text = JSON.stringify(value) ?? typeof value;
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
}

/** Not all of it: shared parts of a value may make its text much larger than the file. */
function mapText(value: object): string {
  const keys = Object.keys(value);
  if (keys.length === 0) return "an empty map";
  const few = keys.slice(0, 3).map((key) => key.slice(0, 20));
  return `a map of ${few.join(", ")}${keys.length > few.length ? ", …" : ""}`;
}

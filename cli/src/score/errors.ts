/** Where in a file something is wrong. */
interface DumpPosition {
  readonly file: string;
  /** Counted from 1; null for the file as a whole. */
  readonly document: number | null;
  /** Counted from 1; null when not known. */
  readonly line: number | null;
}

/** Codes of the errors that reading and scoring a dump throws. */
const SCORE_ERROR_CODES = [
  "malformed_dump",
  "malformed_graph",
  "malformed_decision",
  "unknown_pod",
  "no_nodes",
] as const;
type ScoreErrorCode = (typeof SCORE_ERROR_CODES)[number];

/** Thrown when a dump can't be scored; the message names file, document, line, rule and value. */
export class DumpError extends Error {
  readonly code: ScoreErrorCode;
  readonly position: DumpPosition;

  constructor(code: ScoreErrorCode, position: DumpPosition, message: string, options?: ErrorOptions) {
    const { file, document, line } = position;
    const where = [
      file,
      document === null ? "" : `document ${document}`,
      line === null ? "" : `line ${line}`,
    ];
    super(`${where.filter((part) => part !== "").join(", ")}: ${message}`, options);
    this.name = "DumpError";
    this.code = code;
    this.position = position;
  }
}

const SHOWN_CHARACTERS = 80;

/** A value for a message: short, and recognisable. */
export function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  const text = JSON.stringify(value) ?? typeof value;
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
}

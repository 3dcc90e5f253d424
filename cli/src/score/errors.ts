/** Position of an error in a file. */
interface DumpPosition {
  readonly file: string;
  /** Starts at 1; null for the whole file. */
  readonly document: number | null;
  /** Starts at 1; null if unknown. */
  readonly line: number | null;
}

const SCORE_ERROR_CODES = [
  "malformed_dump",
  "malformed_graph",
  "malformed_decision",
  "unknown_pod",
  "no_nodes",
] as const;
type ScoreErrorCode = (typeof SCORE_ERROR_CODES)[number];

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

export function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  const text = JSON.stringify(value) ?? typeof value;
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
}

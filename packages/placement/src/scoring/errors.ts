/** What went wrong, as a word that callers may branch on. */
const PLACEMENT_ERROR_CODES = ["invalid_setting", "unknown_strategy", "unknown_mode"] as const;
type PlacementErrorCode = (typeof PLACEMENT_ERROR_CODES)[number];

/** Thrown when a strategy is asked for that can't exist; the message names setting, rule and value. */
export class PlacementError extends Error {
  readonly code: PlacementErrorCode;

  constructor(code: PlacementErrorCode, message: string) {
    super(message);
    this.name = "PlacementError";
    this.code = code;
  }
}

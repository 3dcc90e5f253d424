const PLACEMENT_ERROR_CODES = ["invalid_setting", "unknown_strategy", "unknown_mode"] as const;
type PlacementErrorCode = (typeof PLACEMENT_ERROR_CODES)[number];

/** The message names setting, rule and value. */
export class PlacementError extends Error {
  readonly code: PlacementErrorCode;

  constructor(code: PlacementErrorCode, message: string) {
    super(message);
    this.name = "PlacementError";
    this.code = code;
  }
}

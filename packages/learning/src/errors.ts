const WEIGHTS_ERROR_CODES = ["not_weights", "other_version", "other_kind", "other_shape", "damaged"] as const;
type WeightsErrorCode = (typeof WEIGHTS_ERROR_CODES)[number];

/** Thrown for unusable weights; the message names subject, rule and value. */
export class WeightsError extends Error {
  readonly code: WeightsErrorCode;

  constructor(code: WeightsErrorCode, subject: string, rule: string, value: unknown) {
    super(`${subject} ${rule}, got ${String(value)}`);
    this.name = "WeightsError";
    this.code = code;
  }
}

const DISPATCH_ERROR_CODES = [
  "invalid_demand",
  "invalid_capacity",
  "invalid_work",
  "invalid_deadline",
] as const;
type DispatchErrorCode = (typeof DISPATCH_ERROR_CODES)[number];

export class DispatchError extends Error {
  readonly code: DispatchErrorCode;

  constructor(code: DispatchErrorCode, subject: string, rule: string, value: unknown) {
    super(`${subject} ${rule}, got ${String(value)}`);
    this.name = "DispatchError";
    this.code = code;
  }
}

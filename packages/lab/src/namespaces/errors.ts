import { CodedError } from "@isochrone/runtime";

const NAMESPACE_ERROR_CODES = [
  "invalid_argument",
  "unknown_node",
  "unsupported",
  "command_failed",
  "system_call_failed",
  "wire_down",
  "wire_failed",
  "closed",
] as const;
type NamespaceErrorCode = (typeof NAMESPACE_ERROR_CODES)[number];

export class NamespaceError extends CodedError {
  declare readonly code: NamespaceErrorCode;

  constructor(code: NamespaceErrorCode, message: string, options: { readonly cause?: unknown } = {}) {
    super(code, message, options);
  }
}

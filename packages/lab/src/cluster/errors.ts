import { CodedError } from "@isochrone/runtime";

/** `code` is stable; the message names subject, rule and value. */
const CLUSTER_ERROR_CODES = [
  "invalid_manifest",
  "invalid_site",
  "extender_failed",
  "not_ready",
  "pod_failed",
] as const;
type ClusterErrorCode = (typeof CLUSTER_ERROR_CODES)[number];

class ClusterError extends CodedError {
  declare readonly code: ClusterErrorCode;

  constructor(
    code: ClusterErrorCode,
    message: string,
    options: { readonly cause?: unknown; readonly retryable?: boolean } = {},
  ) {
    super(code, message, options);
  }
}

export interface ManifestProblem {
  readonly file: string;
  readonly document: number;
  readonly line: number;
  readonly message: string;
}

/** Lists every broken rule that was found. */
export class ManifestError extends ClusterError {
  readonly problems: readonly ManifestProblem[];

  constructor(problems: readonly ManifestProblem[]) {
    const lines = problems.map(
      ({ file, document, line, message }) => `${file}:${line} (document ${document}): ${message}`,
    );
    super("invalid_manifest", lines.join("\n"));
    this.problems = problems;
  }
}

export class SiteError extends ClusterError {
  constructor(message: string) {
    super("invalid_site", message);
  }
}

export class ExtenderError extends ClusterError {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super("extender_failed", message, { ...options, retryable: true });
  }
}

export class NotReadyError extends ClusterError {
  readonly missing: readonly string[];

  constructor(message: string, missing: readonly string[]) {
    super("not_ready", message, { retryable: true });
    this.missing = missing;
  }
}

export class PodProcessError extends ClusterError {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super("pod_failed", message, { ...options, retryable: true });
  }
}

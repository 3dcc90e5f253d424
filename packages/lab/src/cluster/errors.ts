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

/** A broken rule of a workflow manifest with its location. */
export interface ManifestProblem {
  readonly file: string;
  /** 1-based. */
  readonly document: number;
  /** 1-based. */
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

/** Thrown if the scheduler extender is unreachable, too slow, or breaks its protocol. */
export class ExtenderError extends ClusterError {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super("extender_failed", message, { ...options, retryable: true });
  }
}

/** Thrown if pods didn't become ready in time. */
export class NotReadyError extends ClusterError {
  /** Pods or workloads that aren't ready. */
  readonly missing: readonly string[];

  constructor(message: string, missing: readonly string[]) {
    super("not_ready", message, { retryable: true });
    this.missing = missing;
  }
}

/** Thrown if a child process of the cluster didn't start or answer. */
export class PodProcessError extends ClusterError {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super("pod_failed", message, { ...options, retryable: true });
  }
}

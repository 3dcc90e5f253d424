import { CodedError } from "@isochrone/runtime";

/** What can go wrong in the embedded cluster; `code` is stable, the message names subject, rule and value. */
const CLUSTER_ERROR_CODES = [
  "invalid_manifest",
  "invalid_site",
  "extender_failed",
  "not_ready",
  "pod_failed",
] as const;
type ClusterErrorCode = (typeof CLUSTER_ERROR_CODES)[number];

/** Base of every error that the embedded cluster throws. */
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

/** One broken rule of a workflow manifest, with the place to look at. */
export interface ManifestProblem {
  readonly file: string;
  /** 1 is the first document of the file. */
  readonly document: number;
  /** 1 is the first line of the file. */
  readonly line: number;
  readonly message: string;
}

/**
 * Thrown when a workflow manifest breaks a rule; it lists every broken rule that was found, not only the
 * first.
 */
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

/** Thrown when a site (node) of the embedded cluster is described wrongly. */
export class SiteError extends ClusterError {
  constructor(message: string) {
    super("invalid_site", message);
  }
}

/** Thrown when the scheduler extender can't be reached, is too slow, or breaks its protocol. */
export class ExtenderError extends ClusterError {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super("extender_failed", message, { ...options, retryable: true });
  }
}

/** Thrown when pods did not become ready within the time given. */
export class NotReadyError extends ClusterError {
  /** Names of the pods or workloads that are not ready. */
  readonly missing: readonly string[];

  constructor(message: string, missing: readonly string[]) {
    super("not_ready", message, { retryable: true });
    this.missing = missing;
  }
}

/** Thrown when a child process of the cluster did not start or answer. */
export class PodProcessError extends ClusterError {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super("pod_failed", message, { ...options, retryable: true });
  }
}

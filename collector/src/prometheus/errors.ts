import { CodedError } from "@isochrone/runtime";

/** Metric label `reason` of isochrone_collector_prometheus_failures_total. */
const PROMETHEUS_FAILURES = [
  "credentials",
  "connect",
  "tls",
  "timeout",
  "unauthorized",
  /** The server rejects the query: 400, or 422 except for too many samples. */
  "bad_query",
  /** The query exceeds the server's sample limit. */
  "too_many_samples",
  "overloaded",
  "http_status",
  "too_large",
  /** Not a query API answer: truncated, not JSON, or of another form. */
  "malformed",
] as const;
export type PrometheusFailure = (typeof PROMETHEUS_FAILURES)[number];

const RETRYABLE: ReadonlySet<PrometheusFailure> = new Set([
  "connect",
  "timeout",
  "overloaded",
  "http_status",
  "malformed",
]);

/** The message names server, rule and value, never a credential. */
export class PrometheusError extends CodedError {
  declare readonly code: PrometheusFailure;
  /** Retry delay requested by the server; 0 without one. */
  readonly retryAfterMs: number;

  constructor(
    code: PrometheusFailure,
    message: string,
    options: { readonly cause?: unknown; readonly retryAfterMs?: number } = {},
  ) {
    super(code, message, { retryable: RETRYABLE.has(code), cause: options.cause });
    this.retryAfterMs = options.retryAfterMs ?? 0;
  }
}

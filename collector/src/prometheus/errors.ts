import { CodedError } from "@isochrone/runtime";

/** Why a query returned nothing. Metric label `reason` of isochrone_collector_prometheus_failures_total. */
const PROMETHEUS_FAILURES = [
  /** A file with a token, password or certificate can't be read. */
  "credentials",
  "connect",
  /** The server's certificate is not one to trust. */
  "tls",
  "timeout",
  /** 401 or 403. */
  "unauthorized",
  /** The server doesn't take the query: 400, or 422 other than too many samples. */
  "bad_query",
  /** The query would read more samples than the server allows. */
  "too_many_samples",
  /** 429 or 503. */
  "overloaded",
  "http_status",
  /** More bytes than collector.prometheusMaxResponseBytes. */
  "too_large",
  /** No answer of the query API: cut off, no JSON, or of another form. */
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

/**
 * Thrown when a query gives nothing usable. The message names the server, the rule and the value, never a
 * credential.
 */
export class PrometheusError extends CodedError {
  declare readonly code: PrometheusFailure;
  /** What the server asks to wait, 0 when it doesn't. */
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

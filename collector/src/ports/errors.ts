/** Metric label `reason` of isochrone_collector_scrape_failures_total. */
const SCRAPE_FAILURES = [
  "connect",
  "timeout",
  /** The token or authorities can't be read; nothing was sent. */
  "credentials",
  "tls_unknown_ca",
  "tls_expired",
  "tls_name",
  "tls",
  /** 401: the token is not accepted. */
  "unauthorized",
  /** 403: a right is missing. */
  "forbidden",
  "http_status",
  "encoding",
  "content_type",
  "too_large",
  "too_many_samples",
  "namespace_share",
  "not_metrics",
  "target_list",
] as const;
export type ScrapeFailure = (typeof SCRAPE_FAILURES)[number];

/** The message names target, rule and value. */
export class ScrapeError extends Error {
  readonly code: ScrapeFailure;

  constructor(code: ScrapeFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ScrapeError";
    this.code = code;
  }
}

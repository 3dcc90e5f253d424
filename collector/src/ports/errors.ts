/** Metric label `reason` of isochrone_collector_scrape_failures_total. */
const SCRAPE_FAILURES = [
  /** No connection, or it broke. */
  "connect",
  "timeout",
  /** The token or authorities can't be read; nothing was sent. */
  "credentials",
  /** The certificate's authority isn't trusted. */
  "tls_unknown_ca",
  /** The certificate is expired or not yet valid. */
  "tls_expired",
  /** The certificate has another name. */
  "tls_name",
  /** Other TLS failures. */
  "tls",
  /** 401: the token is not accepted. */
  "unauthorized",
  /** 403: a right is missing. */
  "forbidden",
  "http_status",
  /** Unrequested or damaged compression. */
  "encoding",
  "content_type",
  "too_large",
  "too_many_samples",
  /** The namespace exceeds its share of memory. */
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

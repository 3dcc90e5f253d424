/**
 * Why a page was not taken, or a part of it left out. Metric label `reason` of
 * isochrone_collector_scrape_failures_total.
 */
const SCRAPE_FAILURES = [
  /** No connection, or it broke off. */
  "connect",
  "timeout",
  /** The token, or the file of authorities, can't be read; nothing was sent. */
  "credentials",
  /** The certificate comes from an authority that isn't trusted. */
  "tls_unknown_ca",
  /** The certificate is valid no more, or not yet. */
  "tls_expired",
  /** The certificate is somebody else's. */
  "tls_name",
  /** Any other failure to agree on TLS. */
  "tls",
  /** 401: the token is not accepted. */
  "unauthorized",
  /** 403: a right is missing. */
  "forbidden",
  "http_status",
  /** Compressed in a way that wasn't asked for, or damaged. */
  "encoding",
  "content_type",
  "too_large",
  "too_many_samples",
  /** Its namespace's pages hold more memory than their share of the memory. */
  "namespace_share",
  "not_metrics",
  "target_list",
] as const;
export type ScrapeFailure = (typeof SCRAPE_FAILURES)[number];

/** Thrown when a scrape gives nothing usable. The message names the target, the rule and the value. */
export class ScrapeError extends Error {
  readonly code: ScrapeFailure;

  constructor(code: ScrapeFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ScrapeError";
    this.code = code;
  }
}

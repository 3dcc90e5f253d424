/** Why a page was not taken, or a part of it left out. Metric label `reason` of isochrone_collector_scrape_failures_total. */
export const SCRAPE_FAILURES = [
  "connect",
  "timeout",
  "http_status",
  "content_type",
  "too_large",
  "too_many_samples",
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

// One scrape: page -> metrics, with the judgement whether the page was one at all.
import type { Metric } from "@isochrone/telemetry";
import { ScrapeError } from "../errors.ts";
import type { PageReader, Target } from "../ports.ts";
import { ExpositionReader } from "./exposition.ts";
import { PageBuilder, type PageFaults } from "./page.ts";
import type { StartTimes } from "./start-times.ts";

export interface ScrapeLimits {
  readonly timeoutMs: number;
  readonly maxPageBytes: number;
  readonly maxSamplesPerPage: number;
}

export interface ScrapeResult {
  readonly metrics: readonly Metric[];
  readonly samples: number;
  readonly faults: PageFaults;
}

/** So many bad lines without a single good one: this is no metrics page, whatever its content type says. */
const HOPELESS_LINES = 20;

/** Scrapes a target at `scrapeMs`. Throws ScrapeError; a page that is refused changes no start times. */
export async function scrape(
  reader: PageReader,
  target: Target,
  startTimes: StartTimes,
  scrapeMs: number,
  limits: ScrapeLimits,
  signal: AbortSignal,
): Promise<ScrapeResult> {
  const page = new PageBuilder(target.kind, scrapeMs, limits.maxSamplesPerPage);
  const lines = new ExpositionReader(page);
  const hopeless = (): boolean => lines.recognised === 0 && lines.malformed >= HOPELESS_LINES;
  await reader.read(target, {
    timeoutMs: limits.timeoutMs,
    maxBytes: limits.maxPageBytes,
    signal,
    onText(chunk) {
      lines.feed(chunk);
      return !page.tooMany && !hopeless();
    },
  });
  lines.end();
  if (page.tooMany)
    throw new ScrapeError(
      "too_many_samples",
      `${target.url} must have at most ${limits.maxSamplesPerPage} wanted samples, got more`,
    );
  if (lines.recognised === 0 && lines.malformed > 0)
    throw new ScrapeError(
      "not_metrics",
      `${target.url} must hold metrics, got ${page.faults.firstFault ?? "nothing readable"}`,
    );
  return { metrics: page.finish(startTimes), samples: page.samples, faults: page.faults };
}

import type { Attributes } from "@isochrone/telemetry";
import { ScrapeError } from "../ports/errors.ts";
import type { PageReader, Target } from "../ports/ports.ts";
import { ExpositionReader, type PageFormat } from "./exposition.ts";
import { PageBuilder, type PageLack } from "./page.ts";
import type { RowRefusal } from "./page-scope.ts";
import type { RefusedRow } from "./row-judge.ts";
import type { UnusedRow } from "./row-table.ts";
import type { TargetMemory } from "./target-memory.ts";

interface ScrapeLimits {
  readonly timeoutMs: number;
  readonly maxPageBytes: number;
  readonly maxSamplesPerPage: number;
  /** Bound per pod in a namespace's share. @default as many as samples */
  readonly maxSeriesPerPod?: number;
}

interface PageFaults {
  readonly malformedLines: number;
  readonly firstFault: string | null;
  readonly incompleteHistograms: number;
  readonly unusableValues: number;
}

export interface ScrapeResult {
  readonly records: readonly Uint8Array[];
  readonly samples: number;
  readonly faults: PageFaults;
  readonly refusals: PageRefusals;
  readonly unused: Readonly<Record<UnusedRow, number>>;
  /** Missing part of pods' usage; null if complete. */
  readonly lack: PageLack | null;
}

interface PageRefusals {
  readonly counts: ReadonlyMap<RowRefusal, number>;
  readonly first: RefusedRow | null;
}

interface ScrapeRequest {
  readonly target: Target;
  readonly memory: TargetMemory;
  readonly scrapeMs: number;
  readonly resource: Attributes;
  /** False if the namespace uses too much memory. @default always true */
  hasRoom?(): boolean;
}

/** This many bad lines without a good one: not a metrics page, whatever its content type. */
const HOPELESS_LINES = 20;
const OPENMETRICS = /^application\/openmetrics-text\b/i;

/** Throws ScrapeError; a refused page leaves the target's memory unchanged. */
export async function scrape(
  reader: PageReader,
  request: ScrapeRequest,
  limits: ScrapeLimits,
  signal: AbortSignal,
): Promise<ScrapeResult> {
  const page = new ScrapedPage(request, limits);
  try {
    await reader.read(request.target, {
      timeoutMs: limits.timeoutMs,
      maxBytes: limits.maxPageBytes,
      signal,
      onContentType: (type) => page.open(OPENMETRICS.test(type) ? "openmetrics" : "text"),
      onBytes: (chunk) => page.feed(chunk),
    });
    return page.finish();
  } catch (error) {
    page.discard();
    throw error;
  }
}

class ScrapedPage {
  readonly #request: ScrapeRequest;
  readonly #limits: ScrapeLimits;
  #format: PageFormat = "text";
  #parts: { readonly page: PageBuilder; readonly lines: ExpositionReader<unknown, unknown> } | null = null;

  constructor(request: ScrapeRequest, limits: ScrapeLimits) {
    this.#request = request;
    this.#limits = limits;
  }

  open(format: PageFormat): void {
    this.#format = format;
  }

  feed(chunk: Uint8Array): boolean {
    const { page, lines } = this.#opened();
    lines.feed(chunk);
    return !page.tooMany && this.#hasRoom() && !(lines.recognised === 0 && lines.malformed >= HOPELESS_LINES);
  }

  finish(): ScrapeResult {
    const { page, lines } = this.#opened();
    lines.end();
    this.#judge(page, lines);
    const { records, incompleteHistograms, unusableValues, lack } = page.finish(this.#request.resource);
    const { malformed: malformedLines, firstFault } = lines;
    return {
      records,
      samples: page.samples,
      faults: { malformedLines, firstFault, incompleteHistograms, unusableValues },
      refusals: page.judge,
      unused: { ...page.unused, unread_metric: lines.unwanted },
      lack,
    };
  }

  discard(): void {
    this.#parts?.page.discard();
  }

  #opened(): { readonly page: PageBuilder; readonly lines: ExpositionReader<unknown, unknown> } {
    if (this.#parts !== null) return this.#parts;
    const { memory, scrapeMs, target } = this.#request;
    const { maxSamplesPerPage: maxSamples, maxSeriesPerPod = maxSamples } = this.#limits;
    const page = new PageBuilder(memory, {
      scrapeMs,
      maxSamples,
      maxSeries: target.namespace === undefined ? maxSamples : maxSeriesPerPod,
      format: this.#format,
      scope: target.scope ?? null,
    });
    return (this.#parts = { page, lines: new ExpositionReader(page) });
  }

  #hasRoom(): boolean {
    return this.#request.hasRoom?.() ?? true;
  }

  #judge(page: PageBuilder, lines: ExpositionReader<unknown, unknown>): void {
    const { url } = this.#request.target;
    if (page.tooMany)
      throw new ScrapeError(
        "too_many_samples",
        `${url} must have at most ${this.#limits.maxSamplesPerPage} wanted samples, got more`,
      );
    if (!this.#hasRoom())
      throw new ScrapeError(
        "namespace_share",
        `${url} must leave the pages of other namespaces their share of the memory, got a page that doesn't`,
      );
    if (lines.recognised === 0 && lines.malformed > 0)
      throw new ScrapeError(
        "not_metrics",
        `${url} must hold metrics, got ${lines.firstFault ?? "nothing readable"}`,
      );
    // A truncated page would look as if its last rows had gone.
    if (this.#format === "openmetrics" && !lines.ended)
      throw new ScrapeError("not_metrics", `${url} must end with # EOF, as OpenMetrics pages do, got none`);
  }
}

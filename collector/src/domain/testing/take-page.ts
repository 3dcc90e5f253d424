import type { Metric } from "@isochrone/telemetry";
import { ExpositionReader, type PageFormat } from "../exposition.ts";
import { PageBuilder, type PageResult } from "../page.ts";
import type { PageScope, RowRefusal } from "../page-scope.ts";
import type { UnusedRow } from "../row-table.ts";
import type { TargetMemory } from "../target-memory.ts";
import { decodedRecords } from "./decoded-records.ts";

export const SCRAPE_MS = 1_700_000_000_000;

export interface TakenPage extends PageResult {
  readonly metrics: readonly Metric[];
  readonly samples: number;
  readonly malformed: number;
  readonly tooMany: boolean;
  readonly refused: Readonly<Partial<Record<RowRefusal, number>>>;
  readonly unused: Readonly<Record<UnusedRow, number>>;
}

interface TakeOptions {
  readonly scrapeMs?: number;
  readonly format?: PageFormat;
  readonly maxSamples?: number;
  readonly scope?: PageScope | null;
  readonly maxSeries?: number;
}

export function takePage(memory: TargetMemory, text: string, options: TakeOptions = {}): TakenPage {
  const {
    scrapeMs = SCRAPE_MS,
    format = "text",
    maxSamples = 100_000,
    scope = null,
    maxSeries = maxSamples,
  } = options;
  const page = new PageBuilder(memory, { scrapeMs, maxSamples, format, scope, maxSeries });
  const reader = new ExpositionReader(page);
  reader.feed(Buffer.from(text));
  reader.end();
  const result = page.finish({ "service.name": "test" });
  return {
    ...result,
    metrics: decodedRecords(result.records),
    samples: page.samples,
    malformed: reader.malformed,
    tooMany: page.tooMany,
    refused: Object.fromEntries(page.judge.counts),
    unused: { ...page.unused, unread_metric: reader.unwanted },
  };
}

import type { Service } from "@isochrone/runtime";
import type { IngestCounts } from "../domain/ingest/ingest-counts.ts";
import type { SourceClock } from "../domain/ingest/source-clocks.ts";

/** How measurements get from the bus into the windows. */
export interface Intake extends Service {
  /** What must still come before graphs can be believed. */
  pending(): string[];
  readonly counts: IngestCounts;
  /** Series in memory. */
  readonly series: number;
  readonly droppedRecords: number;
  readonly missingRecords: number;
  readonly refusedRates: number;
  clocks(): Iterable<[string, SourceClock]>;
}

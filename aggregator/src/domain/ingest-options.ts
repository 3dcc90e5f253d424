import type { DroppedReports } from "./dropped-reports.ts";
import type { IngestCounts } from "./ingest-counts.ts";
import type { SourceClocks } from "./source-clocks.ts";
import type { Speakers } from "./speakers/speaker.ts";

/** A record as any bus hands it over. */
export interface IncomingRecord {
  readonly key: string;
  readonly value: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
  readonly appendedAtMs: number;
}

/** Limits of an ingest. */
export interface IngestOptions {
  /** How far ahead of now a point may lie; less than a pane. */
  readonly maxFutureMs: number;
  /** Series that are remembered; beyond them the least recently used are forgotten. */
  readonly maxSeries: number;
  /** Sources whose clock and sequences are remembered. */
  readonly maxSources: number;
  /** New series that one source may bring per window; at most half of maxSeries, so that there is room for others. @default maxSeries */
  readonly maxSeriesPerSource?: number;
  /** 32 bits that senders can't guess, or they could make the series' hashes collide. @default 0 */
  readonly hashSeed?: number;
}

/** Tells records that came before from new ones. */
export interface RecordSequences {
  observe(source: string, epoch: string, sequence: number): "new" | "duplicate";
  /** See SequenceTracker. */
  readonly missing: number;
  readonly outstanding: number;
}

/** What an ingest shares with others, or carries on from somebody else. Each has a default of its own. */
export interface IngestParts {
  readonly counts?: IngestCounts;
  readonly sequences?: RecordSequences;
  readonly dropped?: DroppedReports;
  readonly clocks?: SourceClocks;
  readonly onRefused?: OnRefused;
  /** Who sends the records. @default nothing is proven, and everybody is believed */
  readonly speakers?: Speakers;
}

/** Told of what was refused, so that it can be logged with names. */
export type OnRefused = (source: string, reason: string, detail: string) => void;

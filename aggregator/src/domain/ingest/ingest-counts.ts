import { REFUSALS } from "@isochrone/telemetry";
import { recordOf } from "@isochrone/primitives";
import { RecentUnused } from "./recent-unused.ts";
import { UNUSED, type Unused } from "./sink.ts";

/** Why points or whole records are refused; the values of the metric label `reason`. */
export const REFUSED = [
  ...REFUSALS,
  "future",
  "bad_headers",
  /** The speaker already has as many sources as it may. */
  "too_many_sources",
  /** Nothing proves who speaks. */
  "unproven",
  /** The speaker may not speak of that. */
  "not_yours",
] as const;
export type Refused = (typeof REFUSED)[number];

/** Whose node counted a connection. */
type ConnectionEnd = "client" | "server";

/** What an ingest has seen since it was made. Only grows. */
export interface IngestCounts {
  records: number;
  /** Points that were in time and new, used or not. */
  points: number;
  /** Points of known metrics of which a part is not needed. */
  ignored: number;
  tooLate: number;
  duplicateRecords: number;
  duplicatePoints: number;
  refusedRecords: number;
  readonly refused: Record<Refused, number>;
  readonly unused: Record<Unused, number>;
  /** A metric that was left out, by reason; empty without one. */
  readonly unusedExamples: Record<Unused, string>;
  readonly recentUnused: RecentUnused;
  /** Bytes of connections between pods on two nodes, as the kernels at both ends counted them: the same. */
  readonly connectionBytes: Record<ConnectionEnd, number>;
}

/** All zero. */
export function createIngestCounts(): IngestCounts {
  const unused = recordOf(UNUSED, () => 0);
  const unusedExamples = recordOf(UNUSED, () => "");
  return {
    records: 0,
    points: 0,
    ignored: 0,
    tooLate: 0,
    duplicateRecords: 0,
    duplicatePoints: 0,
    refusedRecords: 0,
    refused: recordOf(REFUSED, () => 0),
    unused,
    unusedExamples,
    recentUnused: new RecentUnused(unused, unusedExamples),
    connectionBytes: { client: 0, server: 0 },
  };
}

import { REFUSALS } from "@isochrone/telemetry";
import { recordOf } from "@isochrone/primitives";
import { RecentUnused } from "./recent-unused.ts";
import { UNUSED, type Unused } from "./sink.ts";

/** Reasons for refused points and records; values of the metric label `reason`. */
export const REFUSED = [
  ...REFUSALS,
  "future",
  "bad_headers",
  "too_many_sources",
  "unproven",
  "not_yours",
] as const;
export type Refused = (typeof REFUSED)[number];

type ConnectionEnd = "client" | "server";

/** Totals since creation. They only grow. */
export interface IngestCounts {
  records: number;
  /** Points that were in time and new, including unused ones. */
  points: number;
  ignored: number;
  tooLate: number;
  duplicateRecords: number;
  duplicatePoints: number;
  refusedRecords: number;
  readonly refused: Record<Refused, number>;
  readonly unused: Record<Unused, number>;
  /** Example of an unused metric by reason; empty: none. */
  readonly unusedExamples: Record<Unused, string>;
  readonly recentUnused: RecentUnused;
  /** Bytes of connections between two nodes, as each end's kernel counted them. Both should be equal. */
  readonly connectionBytes: Record<ConnectionEnd, number>;
}

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

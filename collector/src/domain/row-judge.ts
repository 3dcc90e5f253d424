import type { LabelLookup } from "@isochrone/telemetry";
import { DEFAULT_FAMILIES } from "./families.ts";
import { rowEnds, rowRefusal, type PageScope, type RowEnds, type RowRefusal } from "./page-scope.ts";

/** Attributes of a series, encoded: Istio's longest have some 600 bytes, a service graph's some 2,000. */
export const MAX_SERIES_BYTES = 4096;

const MESH_FAMILIES: ReadonlySet<string> = new Set(DEFAULT_FAMILIES.istio);

/** A refused row: the page's first is told to people. */
export interface RefusedRow {
  readonly reason: RowRefusal;
  readonly metric: string;
  readonly ends: RowEnds;
}

/** Judges the rows of one page by its scope, and counts those that it refuses. */
export class RowJudge {
  readonly #scope: PageScope | null;
  readonly counts = new Map<RowRefusal, number>();
  first: RefusedRow | null = null;
  refused = 0;

  /** @param scope null: the page may tell of everybody */
  constructor(scope: PageScope | null) {
    this.#scope = scope;
  }

  /** False, and counted, for a row that the page may not have. */
  admits(family: string, label: LabelLookup): boolean {
    if (this.#scope === null || !MESH_FAMILIES.has(family)) return true;
    const reason = rowRefusal(this.#scope, label);
    if (reason !== null) this.refuse(reason, family, label);
    return reason === null;
  }

  refuse(reason: RowRefusal, family: string, label: LabelLookup): void {
    this.refused++;
    this.counts.set(reason, (this.counts.get(reason) ?? 0) + 1);
    this.first ??= { reason, metric: family, ends: rowEnds(label) };
  }
}

import type { LabelLookup } from "@isochrone/telemetry";
import { DEFAULT_FAMILIES } from "./families.ts";
import { rowEnds, rowRefusal, type PageScope, type RowEnds, type RowRefusal } from "./page-scope.ts";

/** Encoded attributes of a series: up to 600 bytes in Istio, 2,000 in a service graph. */
export const MAX_SERIES_BYTES = 4096;

const MESH_FAMILIES: ReadonlySet<string> = new Set(DEFAULT_FAMILIES.istio);

export interface RefusedRow {
  readonly reason: RowRefusal;
  readonly metric: string;
  readonly ends: RowEnds;
}

export class RowJudge {
  readonly #scope: PageScope | null;
  readonly counts = new Map<RowRefusal, number>();
  first: RefusedRow | null = null;
  refused = 0;

  constructor(scope: PageScope | null) {
    this.#scope = scope;
  }

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

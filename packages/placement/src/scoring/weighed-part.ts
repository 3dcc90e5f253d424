import type { MinMax } from "./columns.ts";
import type { PartColumn } from "./network-part.ts";

/** A part of the sum. */
export interface PartSource {
  readonly name: string;
  /** In `normalized` mode; those of a strategy add up to 1. */
  readonly weight: number;
  /** In the paper's own sum. @default weight */
  readonly rawWeight?: number;
  readonly source: PartColumn;
}

/**
 * A part with the scale that normalises it; no scale when the part took no side, or is the same everywhere.
 */
export interface WeighedPart extends PartSource {
  readonly scale: MinMax | null;
}

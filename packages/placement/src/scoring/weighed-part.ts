import type { MinMax } from "./columns.ts";
import type { PartColumn } from "./network-part.ts";

export interface PartSource {
  readonly name: string;
  /** Weight in `normalized` mode; a strategy's weights add up to 1. */
  readonly weight: number;
  /** Weight in `raw` mode. @default weight */
  readonly rawWeight?: number;
  readonly source: PartColumn;
}

/** No scale: the part had no influence, or is constant. */
export interface WeighedPart extends PartSource {
  readonly scale: MinMax | null;
}

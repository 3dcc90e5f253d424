// What a picture of the grid is drawn from.
import type { Theme } from "../../model/scale.ts";
import type { Grid } from "../../model/grid.ts";
import type { Field, Viewport } from "./viewport.ts";

/** What room there is beside the cells, pixels. */
export interface Margins {
  readonly left: number;
  readonly top: number;
}

export interface Cell {
  readonly row: number;
  readonly column: number;
}

export interface Scene {
  readonly grid: Grid;
  /** A pixel per cell. */
  readonly picture: CanvasImageSource;
  readonly names: readonly string[];
  readonly margins: Margins;
  readonly field: Field;
  readonly view: Viewport;
  readonly theme: Theme;
  readonly cursor: Cell | null;
  /** Rows, and columns, of what somebody searches for. */
  readonly found: ReadonlySet<number>;
  readonly patterns: Patterns;
}

/** What is laid over cells that aren't a measured value. */
export interface Patterns {
  readonly estimated: CanvasPattern | null;
  readonly scarce: CanvasPattern | null;
}

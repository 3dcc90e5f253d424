import type { Theme } from "../../model/scale.ts";
import type { Grid } from "../../model/grid.ts";
import type { Field, Viewport } from "./viewport.ts";

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
  readonly picture: CanvasImageSource;
  readonly names: readonly string[];
  readonly margins: Margins;
  readonly field: Field;
  readonly view: Viewport;
  readonly theme: Theme;
  readonly cursor: Cell | null;
  readonly found: ReadonlySet<number>;
  readonly patterns: Patterns;
}

export interface Patterns {
  readonly estimated: CanvasPattern | null;
  readonly scarce: CanvasPattern | null;
}

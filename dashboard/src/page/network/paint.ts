// Draws a grid onto a canvas: the picture of its pixels enlarged, and where there is room for it figures, marks and names.
import { figure } from "../model/format.ts";
import { INK, type Theme } from "../model/scale.ts";
import { shorten, shortNames } from "../model/names.ts";
import { CELL, KIND_BITS, MARK, type Grid } from "./grid.ts";
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
  readonly hatching: CanvasPattern | null;
}

const FONT = '"Inter", "Segoe UI", system-ui, sans-serif';
/** Pixels of a cell from which on there is room for ... */
const ROOM = { mark: 7, name: 12, figure: 30 } as const;
const STRIP = 5;
const MAX_NAME = 22;

const COLOURS: Readonly<
  Record<
    Theme,
    {
      readonly soft: string;
      readonly paper: string;
      readonly strip: readonly string[];
      readonly cursor: string;
    }
  >
> = {
  light: { soft: "#4d5a68", paper: "#ffffff", strip: ["#7d8ea3", "#b3bfcc"], cursor: "#0b4fa8" },
  dark: { soft: "#a9b4c1", paper: "#171c22", strip: ["#7c8b9d", "#4c5968"], cursor: "#9cc7ff" },
};

/** Names as they stand beside the rows. */
export function rowNames(grid: Grid, isNarrow: boolean): readonly string[] {
  const most = isNarrow ? 12 : MAX_NAME;
  if (grid.level !== "nodes") return grid.labels.map((label) => shorten(label, most));
  const short = shortNames(grid.labels, most);
  return grid.labels.map((label) => shorten(short.get(label)!, most));
}

/** Names of rows where they fit, those of bands otherwise. */
export function marginsOf(
  context: CanvasRenderingContext2D,
  grid: Grid,
  names: readonly string[],
  width: number,
): Margins {
  context.font = `12px ${FONT}`;
  const labels = grid.size <= 70 ? names : grid.bands.map(({ label }) => shorten(label, 14));
  let longest = 0;
  for (const label of labels) longest = Math.max(longest, context.measureText(label).width);
  const room = Math.min(Math.ceil(longest) + STRIP + 10, Math.max(64, width * 0.3));
  return { left: room, top: room };
}

export function paint(context: CanvasRenderingContext2D, scene: Scene): void {
  const { margins, field, view, grid, picture, theme } = scene;
  const extent = grid.size * view.scale;
  context.clearRect(0, 0, margins.left + field.width, margins.top + field.height);
  context.save();
  context.beginPath();
  context.rect(margins.left, margins.top, Math.min(field.width, extent), Math.min(field.height, extent));
  context.clip();
  context.translate(margins.left, margins.top);
  // Smaller than a pixel cells are averaged, larger ones keep their edges.
  context.imageSmoothingEnabled = view.scale < 1;
  context.drawImage(picture, view.x, view.y, extent, extent);
  if (view.scale >= ROOM.mark) paintCells(context, scene);
  paintLines(context, scene);
  if (scene.cursor !== null) {
    context.strokeStyle = COLOURS[theme].cursor;
    context.lineWidth = 2;
    const side = Math.max(view.scale, 6);
    context.strokeRect(
      view.x + scene.cursor.column * view.scale + 1,
      view.y + scene.cursor.row * view.scale + 1,
      side - 2,
      side - 2,
    );
  }
  context.restore();
  paintNames(context, scene);
}

interface Range {
  readonly rows: readonly [number, number];
  readonly columns: readonly [number, number];
}

function seen({ grid, view, field }: Scene): Range {
  const range = (offset: number, extent: number): readonly [number, number] => [
    Math.max(0, Math.floor(-offset / view.scale)),
    Math.min(grid.size, Math.ceil((extent - offset) / view.scale)),
  ];
  return { rows: range(view.y, field.height), columns: range(view.x, field.width) };
}

function paintCells(context: CanvasRenderingContext2D, scene: Scene): void {
  const { grid, view, theme, hatching } = scene;
  const { rows, columns } = seen(scene);
  const { scale } = view;
  const hatched = new Path2D();
  const corners = new Path2D();
  const dots = new Path2D();
  for (let row = rows[0]; row < rows[1]; row++)
    for (let column = columns[0]; column < columns[1]; column++) {
      const state = grid.cells[row * grid.size + column]!;
      if (state === CELL.measured || state === CELL.nothing || state === CELL.self) continue;
      const [x, y] = [view.x + column * scale, view.y + row * scale];
      if ((state & KIND_BITS) === CELL.estimated) hatched.rect(x, y, scale, scale);
      if ((state & MARK.lossy) !== 0) addCorner(corners, x, y, scale);
      if ((state & MARK.stale) !== 0)
        dots.rect(x + scale * 0.12, y + scale * 0.76, scale * 0.76, Math.max(1, scale * 0.07));
    }
  if (hatching !== null) {
    context.fillStyle = hatching;
    fillPath(context, hatched);
  }
  context.fillStyle = theme === "light" ? "#8f1d2c" : "#ffb3b3";
  fillPath(context, corners);
  context.fillStyle = COLOURS[theme].soft;
  fillPath(context, dots);
  if (scale >= ROOM.figure) paintFigures(context, scene, { rows, columns });
}

/** Not a list that is filled with one thing, as a linter takes a call of `fill` for. */
function fillPath(context: CanvasRenderingContext2D, path: Path2D): void {
  // oxlint-disable-next-line unicorn/no-array-fill-with-reference-type
  context.fill(path);
}

function addCorner(path: Path2D, x: number, y: number, scale: number): void {
  const side = Math.max(3, scale * 0.24);
  path.moveTo(x + scale - side, y);
  path.lineTo(x + scale, y);
  path.lineTo(x + scale, y + side);
  path.closePath();
}

function paintFigures(context: CanvasRenderingContext2D, scene: Scene, { rows, columns }: Range): void {
  const { grid, view, theme } = scene;
  const { scale } = view;
  const size = Math.min(13, scale * 0.3);
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (let row = rows[0]; row < rows[1]; row++)
    for (let column = columns[0]; column < columns[1]; column++) {
      const cell = row * grid.size + column;
      const state = grid.cells[cell]!;
      const kind = state & KIND_BITS;
      const text = kind === CELL.dead ? "✕" : kind === CELL.self ? "" : cellText(grid, grid.values[cell]!);
      if (text === "") continue;
      const isSoft = kind === CELL.nothing || (state & MARK.stale) !== 0;
      context.font = `${(state & MARK.provisional) === 0 ? "" : "italic "}${kind === CELL.dead ? "600 " : ""}${size}px ${FONT}`;
      context.fillStyle =
        kind === CELL.dead ? COLOURS[theme].paper : isSoft ? COLOURS[theme].soft : INK[theme];
      context.fillText(text, view.x + (column + 0.5) * scale, view.y + (row + 0.5) * scale);
    }
}

/** In a cell there is room for three digits. */
export function cellText({ quantity }: Pick<Grid, "quantity">, value: number): string {
  if (Number.isNaN(value)) return "–";
  if (quantity === "loss") return value === 0 ? "0" : figure(Number((value * 100).toPrecision(2)));
  return value >= 10 ? String(Math.round(value)) : figure(Number(value.toPrecision(2)));
}

/** Between zones, and in a small matrix between all cells. */
function paintLines(context: CanvasRenderingContext2D, { grid, view, theme }: Scene): void {
  const extent = grid.size * view.scale;
  context.strokeStyle = COLOURS[theme].paper;
  context.lineWidth = 1;
  context.beginPath();
  if (view.scale >= ROOM.name)
    for (let index = 1; index < grid.size; index++) line(context, view, index * view.scale, extent);
  context.stroke();
  context.lineWidth = view.scale >= 2 ? 3 : 1;
  context.beginPath();
  for (const { begin } of grid.bands) if (begin > 0) line(context, view, begin * view.scale, extent);
  context.stroke();
}

function line(context: CanvasRenderingContext2D, { x, y }: Viewport, at: number, extent: number): void {
  context.moveTo(x + at, y);
  context.lineTo(x + at, y + extent);
  context.moveTo(x, y + at);
  context.lineTo(x + extent, y + at);
}

function paintNames(context: CanvasRenderingContext2D, scene: Scene): void {
  const { grid, view, names, theme, margins, field } = scene;
  const isNamed = view.scale >= ROOM.name;
  const entries = isNamed
    ? names.map((label, index) => ({ label, begin: index, end: index + 1 }))
    : grid.bands.map(({ label, begin, end }) => ({ label: shorten(label, 14), begin, end }));
  context.font = `12px ${FONT}`;
  context.textBaseline = "middle";
  for (const axis of ["y", "x"] as const) {
    context.save();
    if (axis === "x") {
      // Columns are rows of a page that was turned.
      context.transform(0, -1, 1, 0, 0, margins.top);
      context.translate(0, 0);
    }
    const [offset, begin, extent] =
      axis === "y" ? [view.y, margins.top, field.height] : [view.x, margins.left, field.width];
    paintStrip(context, scene, { axis, offset, begin, extent });
    context.textAlign = axis === "y" ? "right" : "left";
    context.fillStyle = COLOURS[theme].soft;
    for (const { label, begin: from, end: to } of entries) {
      const top = Math.max(offset + from * view.scale, 0);
      const bottom = Math.min(offset + to * view.scale, extent);
      if (bottom - top < (isNamed ? view.scale * 0.5 : 13)) continue;
      context.fillText(
        label,
        axis === "y" ? margins.left - STRIP - 5 : STRIP + 5,
        begin + (top + bottom) / 2,
      );
    }
    context.restore();
  }
}

interface StripPlace {
  readonly axis: "x" | "y";
  readonly offset: number;
  readonly begin: number;
  readonly extent: number;
}

function paintStrip(
  context: CanvasRenderingContext2D,
  { grid, view, theme, margins }: Scene,
  { axis, offset, begin, extent }: StripPlace,
): void {
  for (const [index, band] of grid.bands.entries()) {
    const top = Math.max(offset + band.begin * view.scale, 0);
    const bottom = Math.min(offset + band.end * view.scale, extent);
    if (bottom <= top) continue;
    context.fillStyle = COLOURS[theme].strip[index % 2]!;
    context.fillRect(axis === "y" ? margins.left - STRIP : 0, begin + top, STRIP - 1, bottom - top - 1);
  }
}

/** Diagonal lines, for what nobody measured. */
export function hatchingOf(context: CanvasRenderingContext2D, theme: Theme): CanvasPattern | null {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const pen = tile.getContext("2d")!;
  pen.strokeStyle = theme === "light" ? "rgba(40, 52, 66, 0.35)" : "rgba(235, 240, 246, 0.28)";
  pen.lineWidth = 1;
  pen.beginPath();
  for (const shift of [-6, 0, 6]) {
    pen.moveTo(shift, 6);
    pen.lineTo(shift + 6, 0);
  }
  pen.stroke();
  return context.createPattern(tile, "repeat");
}

import { figure } from "../../model/format.ts";
import { colourOf, DEAD, inkOn, type Theme } from "../../model/scale.ts";
import { CELL, KIND_BITS, MARK, measureOf, type Grid } from "../../model/grid.ts";
import { COLOURS, FONT, NAME_ROOM, paintNames } from "./paint-names.ts";
import type { Viewport } from "./viewport.ts";
import type { Patterns, Scene } from "./scene.ts";

const ROOM = { mark: 7, figure: 30, unit: 64 } as const;
const UNITS = { ms: " ms", loss: " %", seconds: " s" } as const;

export function paint(context: CanvasRenderingContext2D, scene: Scene): void {
  const { margins, field, view, grid, picture } = scene;
  const extent = grid.size * view.scale;
  context.clearRect(0, 0, margins.left + field.width, margins.top + field.height);
  context.save();
  context.beginPath();
  context.rect(margins.left, margins.top, Math.min(field.width, extent), Math.min(field.height, extent));
  context.clip();
  context.translate(margins.left, margins.top);
  // Average subpixel cells; keep the edges of larger ones.
  context.imageSmoothingEnabled = view.scale < 1;
  context.drawImage(picture, view.x, view.y, extent, extent);
  if (view.scale >= ROOM.mark) paintCells(context, scene);
  paintLines(context, scene);
  paintCrosshair(context, scene);
  context.restore();
  paintNames(context, scene);
}

function paintCrosshair(
  context: CanvasRenderingContext2D,
  { grid, view, theme, cursor, found }: Scene,
): void {
  const extent = grid.size * view.scale;
  const side = Math.max(view.scale, 2);
  const bands = new Path2D();
  const rows = cursor === null ? found : new Set([...found, cursor.row]);
  const columns = cursor === null ? found : new Set([...found, cursor.column]);
  for (const row of rows) bands.rect(view.x, view.y + row * view.scale, extent, side);
  for (const column of columns) bands.rect(view.x + column * view.scale, view.y, side, extent);
  const cell = new Path2D();
  if (cursor !== null) {
    const room = Math.max(view.scale, 6) - 2;
    cell.rect(view.x + cursor.column * view.scale + 1, view.y + cursor.row * view.scale + 1, room, room);
  }
  // A paper-coloured edge keeps it visible on cells of its own colour.
  for (const [colour, wider] of [
    [COLOURS[theme].paper, 2],
    [COLOURS[theme].cursor, 0],
  ] as const) {
    context.strokeStyle = colour;
    context.lineWidth = 1 + wider;
    context.stroke(bands);
    context.lineWidth = 2 + wider;
    context.stroke(cell);
  }
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
  const { grid, view, theme, patterns } = scene;
  const { rows, columns } = seen(scene);
  const { scale } = view;
  const estimated = new Path2D();
  const scarce = new Path2D();
  const corners = new Path2D();
  const dots = new Path2D();
  for (let row = rows[0]; row < rows[1]; row++)
    for (let column = columns[0]; column < columns[1]; column++) {
      const state = grid.cells[row * grid.size + column]!;
      if (state === CELL.measured || state === CELL.nothing || state === CELL.self) continue;
      const [x, y] = [view.x + column * scale, view.y + row * scale];
      if ((state & KIND_BITS) === CELL.estimated) estimated.rect(x, y, scale, scale);
      if ((state & KIND_BITS) === CELL.scarce) scarce.rect(x, y, scale, scale);
      if ((state & MARK.lossy) !== 0) addCorner(corners, x, y, scale);
      if ((state & MARK.stale) !== 0)
        dots.rect(x + scale * 0.12, y + scale * 0.76, scale * 0.76, Math.max(1, scale * 0.07));
    }
  for (const [pattern, path] of [
    [patterns.estimated, estimated],
    [patterns.scarce, scarce],
  ] as const) {
    if (pattern === null) continue;
    context.fillStyle = pattern;
    fillPath(context, path);
  }
  context.fillStyle = DEAD[theme];
  fillPath(context, corners);
  context.fillStyle = COLOURS[theme].soft;
  fillPath(context, dots);
  if (scale >= ROOM.figure) paintFigures(context, scene, { rows, columns });
}

/** Avoids a linter's false positive on `fill` calls. */
function fillPath(context: CanvasRenderingContext2D, path: Path2D): void {
  // oxlint-disable-next-line unicorn/no-array-fill-with-reference-type
  context.fill(path);
}

function addCorner(path: Path2D, x: number, y: number, scale: number): void {
  const side = Math.min(16, Math.max(3, scale * 0.24));
  path.moveTo(x + scale - side, y);
  path.lineTo(x + scale, y);
  path.lineTo(x + scale, y + side);
  path.closePath();
}

function paintFigures(context: CanvasRenderingContext2D, scene: Scene, { rows, columns }: Range): void {
  const { grid, view } = scene;
  const { scale } = view;
  const size = scale < ROOM.unit ? Math.min(13, scale * 0.3) : Math.min(20, scale * 0.2);
  const unit = scale < ROOM.unit ? "" : UNITS[measureOf(grid.quantity)];
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (let row = rows[0]; row < rows[1]; row++)
    for (let column = columns[0]; column < columns[1]; column++) {
      const cell = row * grid.size + column;
      const state = grid.cells[cell]!;
      const kind = state & KIND_BITS;
      const text = kind === CELL.self ? "" : textOf(grid, kind, grid.values[cell]!);
      if (text === "") continue;
      context.font = `${(state & MARK.provisional) === 0 ? "" : "italic "}${kind === CELL.dead ? "600 " : ""}${size}px ${FONT}`;
      context.fillStyle = inkOf(scene, kind, grid.values[cell]!);
      const words = /\d$/.test(text) ? `${text}${unit}` : text;
      context.fillText(words, view.x + (column + 0.5) * scale, view.y + (row + 0.5) * scale);
    }
}

function textOf(grid: Grid, kind: number, value: number): string {
  return kind === CELL.dead ? "✕" : kind === CELL.scarce ? "few" : cellText(grid, value);
}

function inkOf({ grid, theme }: Scene, kind: number, value: number): string {
  switch (kind) {
    case CELL.dead:
      return inkOn(DEAD[theme]);
    case CELL.measured:
    case CELL.estimated:
      return inkOn(colourOf(value, measureOf(grid.quantity), theme));
    default:
      return COLOURS[theme].soft;
  }
}

function cellText({ quantity }: Pick<Grid, "quantity">, value: number): string {
  if (Number.isNaN(value)) return "–";
  if (quantity === "loss") return value === 0 ? "0" : figure(Number((value * 100).toPrecision(2)));
  return value >= 10 ? String(Math.round(value)) : figure(Number(value.toPrecision(2)));
}

function paintLines(context: CanvasRenderingContext2D, { grid, view, theme }: Scene): void {
  const extent = grid.size * view.scale;
  context.strokeStyle = COLOURS[theme].paper;
  context.lineWidth = 1;
  context.beginPath();
  if (view.scale >= NAME_ROOM)
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

/** Diagonal lines: not measured; dots: too few samples. */
export function patternsOf(context: CanvasRenderingContext2D, theme: Theme): Patterns {
  const pen = theme === "light" ? "rgba(16, 22, 29, 0.35)" : "rgba(255, 255, 255, 0.3)";
  const tileOf = (draw: (tile: CanvasRenderingContext2D) => void): CanvasPattern | null => {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const inner = tile.getContext("2d")!;
    inner.strokeStyle = inner.fillStyle = pen;
    draw(inner);
    return context.createPattern(tile, "repeat");
  };
  return {
    estimated: tileOf((tile) => {
      tile.beginPath();
      for (const shift of [-6, 0, 6]) {
        tile.moveTo(shift, 6);
        tile.lineTo(shift + 6, 0);
      }
      tile.stroke();
    }),
    scarce: tileOf((tile) => tile.fillRect(2, 2, 2, 2)),
  };
}

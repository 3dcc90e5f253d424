import { shorten, shortNames } from "../../model/names.ts";
import type { Theme } from "../../model/scale.ts";
import type { Grid } from "../../model/grid.ts";
import type { Margins, Scene } from "./scene.ts";

export const FONT = '"Inter", "Segoe UI", system-ui, sans-serif';
export const NAME_ROOM = 12;
const STRIP = 5;
const MAX_NAME = 22;

export const COLOURS: Readonly<
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

export function rowNames(grid: Grid, isNarrow: boolean): readonly string[] {
  const most = isNarrow ? 12 : MAX_NAME;
  if (grid.level !== "nodes") return grid.labels.map((label) => shorten(label, most));
  const short = shortNames(grid.labels, most);
  return grid.labels.map((label) => shorten(short.get(label)!, most));
}

export function marginsOf(
  context: CanvasRenderingContext2D,
  grid: Grid,
  names: readonly string[],
  width: number,
): Margins {
  context.font = `600 12px ${FONT}`;
  const labels = grid.size <= 70 ? names : grid.bands.map(({ label }) => shorten(label, 14));
  let longest = 0;
  for (const label of labels) longest = Math.max(longest, context.measureText(label).width);
  const room = Math.min(Math.ceil(longest) + STRIP + 10, Math.max(64, width * 0.3));
  return { left: room, top: room };
}

export function paintNames(context: CanvasRenderingContext2D, scene: Scene): void {
  const { view, margins, field } = scene;
  context.textBaseline = "middle";
  for (const axis of ["y", "x"] as const) {
    context.save();
    if (axis === "x") context.transform(0, -1, 1, 0, 0, margins.top);
    const [offset, begin, extent] =
      axis === "y" ? [view.y, margins.top, field.height] : [view.x, margins.left, field.width];
    const place: StripPlace = { axis, offset, begin, extent };
    paintStrip(context, scene, place);
    paintEntries(context, scene, place);
    context.restore();
  }
}

function paintEntries(
  context: CanvasRenderingContext2D,
  { grid, names, view, theme, margins, cursor, found }: Scene,
  { axis, offset, begin, extent }: StripPlace,
): void {
  const isNamed = view.scale >= NAME_ROOM;
  const entries = isNamed
    ? names.map((label, index) => ({ label, begin: index, end: index + 1 }))
    : grid.bands.map(({ label, begin: from, end }) => ({ label: shorten(label, 14), begin: from, end }));
  const pointedAt = axis === "y" ? cursor?.row : cursor?.column;
  const left = axis === "y" ? margins.left - STRIP - 5 : STRIP + 5;
  context.textAlign = axis === "y" ? "right" : "left";
  for (const { label, begin: from, end: to } of entries) {
    const top = Math.max(offset + from * view.scale, 0);
    const bottom = Math.min(offset + to * view.scale, extent);
    if (bottom - top < (isNamed ? view.scale * 0.5 : 13)) continue;
    const isMeant = isNamed && (from === pointedAt || found.has(from));
    context.fillStyle = isMeant ? COLOURS[theme].cursor : COLOURS[theme].soft;
    context.font = `${isMeant ? "600 " : ""}12px ${FONT}`;
    context.fillText(label, left, begin + (top + bottom) / 2);
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

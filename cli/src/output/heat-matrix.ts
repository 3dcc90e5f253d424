import { HEAT_EDGES_MS, paintedMs } from "./heat.ts";
import type { Canvas } from "./heat.ts";

export interface PairFigure {
  /** Null: no answer. */
  readonly ms: number | null;
  /** For example "12.3!"; only `ms` determines the colour. */
  readonly text: string;
}

type FigureOf = (source: string, target: string) => PairFigure | null;

const LEAST_NAME = 4;
const SWATCH = 2;

/** If names don't fit: numbers as column heads, then cells without figures, then fewer nodes. */
export function heatMatrix(names: readonly string[], figureOf: FigureOf, canvas: Canvas): string {
  const figures = names.map((source) =>
    names.map((target) => (source === target ? null : figureOf(source, target))),
  );
  const figureWidth = Math.max(LEAST_NAME, ...figures.flat().map((figure) => figure?.text.length ?? 1));
  const nameWidth = Math.max(0, ...names.map(({ length }) => length));
  const numberWidth = String(names.length).length;
  const fits = (head: number, cell: number): boolean => head + names.length * (cell + 1) <= canvas.columns;
  if (fits(nameWidth, Math.max(figureWidth, nameWidth)))
    return drawn(names, names, figures, Math.max(figureWidth, nameWidth), canvas);
  const rows = names.map((name, index) => `${String(index + 1).padStart(numberWidth)} ${name}`);
  const numbers = names.map((_, index) => String(index + 1));
  const head = numberWidth + 1 + nameWidth;
  if (fits(head, figureWidth)) return drawn(rows, numbers, figures, figureWidth, canvas);
  const cell = Math.max(SWATCH, numberWidth);
  const shown = Math.min(names.length, Math.max(1, Math.floor((canvas.columns - head) / (cell + 1))));
  const blank = figures.map((row) => row.slice(0, shown).map((each) => each && { ...each, text: "" }));
  const all = drawn(rows.slice(0, shown), numbers.slice(0, shown), blank.slice(0, shown), cell, canvas);
  return shown === names.length
    ? all
    : `${all}\n${names.length - shown} more nodes don't fit into ${canvas.columns} columns; -o json has them`;
}

function drawn(
  rows: readonly string[],
  columns: readonly string[],
  figures: readonly (readonly (PairFigure | null)[])[],
  cell: number,
  canvas: Canvas,
): string {
  const head = Math.max(...rows.map(({ length }) => length));
  const top = `${" ".repeat(head)} ${columns.map((name) => name.padStart(cell)).join(" ")}`;
  const lines = rows.map((name, row) => {
    const cells = figures[row]!.map((figure, column) =>
      figure === null
        ? (row === column ? "" : "–").padStart(cell)
        : paintedMs(figure.text.padStart(cell), figure.ms, canvas),
    );
    return `${name.padEnd(head)} ${cells.join(" ")}`;
  });
  return [top.trimEnd(), ...lines, legend(canvas)].join("\n");
}

function legend(canvas: Canvas): string {
  const steps = [0, ...HEAT_EDGES_MS].map((from) => paintedMs(` ${from} `, from, canvas));
  return `ms from ${steps.join("")} ${paintedMs(" lost ", null, canvas)}`;
}

// Plain tables: numbers right-aligned, names left, a dash for unknown.

import { visible } from "@isochrone/runtime/basics";

export type Cell = string | number | null;

export function table(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const texts = rows.map((row) => row.map(cellText));
  const isNumber = head.map((_, column) => rows.some((row) => typeof row[column] === "number"));
  const widths = head.map((title, column) =>
    Math.max(visible(title).length, ...texts.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) =>
        isNumber[column]! ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!),
      )
      .join("  ")
      .trimEnd();
  return [line(head.map(visible)), ...texts.map(line)].join("\n");
}

function cellText(cell: Cell): string {
  if (cell === null) return "–";
  if (typeof cell === "string") return visible(cell);
  return Number.isInteger(cell) ? String(cell) : cell.toFixed(Math.abs(cell) < 10 ? 2 : 1);
}

export function matrix(names: readonly string[], value: (source: string, target: string) => Cell): string {
  return table(
    ["from \\ to", ...names],
    names.map((source) => [
      source,
      ...names.map((target) => (source === target ? "" : value(source, target))),
    ]),
  );
}

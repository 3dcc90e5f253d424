import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { reasonOf } from "@isochrone/primitives";
import { NetworkError } from "./errors.ts";

/** Round-trip times in ms by row and column; null where nobody measured. */
export type RttMatrix = readonly (readonly (number | null)[])[];

const DEFAULT_MATRIX = fileURLToPath(new URL("../../data/planetlab-16.txt", import.meta.url));
/** A square matrix above this is no cluster for one machine. */
const MAX_ROWS = 2000;
const MAX_RTT_MS = 60_000;

/** The built-in matrix: 16 hosts of PlanetLab, see data/README.md. */
export function defaultMatrix(): RttMatrix {
  return loadMatrix(DEFAULT_MATRIX);
}

/**
 * Reads n x n whitespace-separated round-trip times in ms; 0 or less means not measured. Blank lines are
 * skipped.
 * @throws NetworkError `invalid_matrix` naming file, line and column (both from 1)
 */
export function loadMatrix(path: string): RttMatrix {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    throw new NetworkError("invalid_matrix", `can't read the matrix ${path}: ${reasonOf(cause)}`, {
      cause,
    });
  }
  return parseMatrix(text, path);
}

/** As {@link loadMatrix}, of a text; `name` is what errors call it. */
export function parseMatrix(text: string, name: string): RttMatrix {
  const rows: (number | null)[][] = [];
  const lines: number[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    const cells = line.split(/\s+/).filter((cell) => cell !== "");
    if (cells.length === 0) continue;
    const place = `${name}, line ${index + 1}`;
    if (rows.length === MAX_ROWS) fail(`${place}: a matrix has at most ${MAX_ROWS} rows`);
    rows.push(cells.map((cell, column) => parseCell(cell, `${place}, column ${column + 1}`)));
    lines.push(index + 1);
  }
  if (rows.length === 0) fail(`${name}: a matrix must have at least one row, got none`);
  for (const [index, row] of rows.entries()) {
    if (row.length === rows.length) continue;
    const column = Math.min(row.length, rows.length) + 1;
    fail(
      `${name}, line ${lines[index]}, column ${column}: a matrix of ${rows.length} rows must have ${rows.length} columns, got ${row.length}`,
    );
  }
  return rows;
}

function parseCell(cell: string, place: string): number | null {
  const value = Number(cell);
  if (!Number.isFinite(value))
    fail(`${place}: a round-trip time must be a number of ms, got ${JSON.stringify(cell)}`);
  if (value > MAX_RTT_MS) fail(`${place}: a round-trip time must be at most ${MAX_RTT_MS} ms, got ${cell}`);
  return value > 0 ? value : null;
}

function fail(message: string): never {
  throw new NetworkError("invalid_matrix", message);
}

import { fileURLToPath } from "node:url";
import { reasonOf } from "@isochrone/primitives";
import { readTextFile } from "@isochrone/runtime";
import { NetworkError } from "./errors.ts";
import { splitTable } from "./table-text.ts";

/** Round-trip times in ms by row and column; null if not measured. */
export type RttMatrix = readonly (readonly (number | null)[])[];

const DEFAULT_MATRIX = fileURLToPath(new URL("../../data/planetlab-16.txt", import.meta.url));
const MAX_ROWS = 2000;
const MAX_RTT_MS = 60_000;
const MAX_BYTES = 64 * 1024 * 1024;

export interface RttTable {
  readonly names: readonly string[] | null;
  readonly namesPlace: string;
  readonly rttMs: RttMatrix;
  readonly places: readonly string[];
}

/** Built-in matrix: 16 hosts of PlanetLab, see data/README.md. */
export function defaultMatrix(): RttMatrix {
  return loadMatrix(DEFAULT_MATRIX);
}

export function loadMatrix(path: string): RttMatrix {
  return loadTable(path).rttMs;
}

/**
 * Reads n x n round-trip times, separated by white space, commas, semicolons or tabs, or as a Markdown table.
 * Times are in ms or have a unit (`34ms`, `1.2 s`, `250us`). Blank cells, `-`, `n/a` and times of 0 or less
 * mean not measured. Names of columns and rows are optional; rows are sorted into the columns' order.
 * @throws NetworkError `invalid_matrix` naming file, line and column (both from 1)
 */
export function loadTable(path: string): RttTable {
  let text: string;
  try {
    text = readTextFile(path, MAX_BYTES);
  } catch (cause) {
    throw new NetworkError("invalid_matrix", `can't read the matrix ${path}: ${reasonOf(cause)}`, {
      cause,
    });
  }
  return parseTable(text, path);
}

export function parseMatrix(text: string, name: string): RttMatrix {
  return parseTable(text, name).rttMs;
}

interface Row {
  readonly place: string;
  readonly name: string | null;
  readonly cells: readonly (number | null)[];
}

export function parseTable(text: string, file: string): RttTable {
  const lines = splitTable(text);
  const header = lines[0] !== undefined && isHeader(lines[0].cells) ? lines.shift() : undefined;
  if (lines.length > MAX_ROWS)
    fail(`${file}, line ${lines[MAX_ROWS]!.line}: a matrix has at most ${MAX_ROWS} rows`);
  if (lines.length === 0) fail(`${file}: a matrix must have at least one row, got none`);
  const namesPlace = `${file}, line ${(header ?? lines[0]!).line}`;
  const isNamed = lines.every(({ cells: [first = ""] }) => isName(first));
  const rows = lines.map(({ line, cells }): Row => {
    const place = `${file}, line ${line}`;
    const skipped = isNamed ? 1 : 0;
    const times = cells
      .slice(skipped)
      .map((cell, column) => parseCell(cell, `${place}, column ${column + 1 + skipped}`));
    return { place, name: isNamed ? cells[0]! : null, cells: times };
  });
  const columns = header && columnNames(header.cells, lines.length, isNamed);
  const names = columns ?? (isNamed ? rows.map(({ name }) => name ?? "") : null);
  if (names !== null) checkNames(names, rows.length, namesPlace);
  const ordered = columns && isNamed ? inOrder(rows, columns, namesPlace) : rows;
  const rttMs = ordered.map((row) => squared(row, rows.length, names !== null));
  return { names, namesPlace, rttMs, places: ordered.map(({ place }) => place) };
}

/** The first cell of a header may be empty, missing, or a title of the names. */
function isHeader([first = "", ...others]: readonly string[]): boolean {
  return others.length > 0 ? others.every(isName) : isName(first) && first !== "";
}

function columnNames(header: readonly string[], rows: number, isNamed: boolean): readonly string[] {
  return isNamed && header.length > rows ? header.slice(1) : header;
}

function checkNames(names: readonly string[], rows: number, place: string): void {
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) fail(`${place}: names must be unique, got ${JSON.stringify(twice)} twice`);
  if (names.length < rows)
    fail(`${place}: a header must have a name for each of the ${rows} rows, got ${names.length}`);
}

/** A row is named like its column, or like the part before the zone. */
function inOrder(rows: readonly Row[], columns: readonly string[], namesPlace: string): Row[] {
  const nodeOf = (name: string | null): string => (name ?? "").split("/")[0]!.trim();
  const isOf = (name: string | null, column: string): boolean =>
    name === column || (!(name ?? "").includes("/") && name === nodeOf(column));
  const seen = new Map<string | null, string>();
  for (const { name, place } of rows) {
    if (!columns.some((column) => isOf(name, column)))
      fail(`${place}: a row must have the name of a column, got ${JSON.stringify(name)}`);
    if (seen.has(nodeOf(name)))
      fail(
        `${place}: a name must have one row, got ${JSON.stringify(name)} again (${seen.get(nodeOf(name))!})`,
      );
    seen.set(nodeOf(name), place);
  }
  return columns.map((column) => {
    const row = rows.find(({ name }) => isOf(name, column));
    return (
      row ?? fail(`${namesPlace}: the column ${JSON.stringify(column)} must have a row of its name, got none`)
    );
  });
}

/** Rows of tables with names may be shorter: a triangle suffices. */
function squared({ place, cells }: Row, size: number, mayBeShort: boolean): readonly (number | null)[] {
  if (cells.length === size) return cells;
  if (mayBeShort && cells.length < size)
    return [...cells, ...Array.from({ length: size - cells.length }, () => null)];
  const column = Math.min(cells.length, size) + 1;
  return fail(
    `${place}, column ${column}: a matrix of ${size} rows must have ${size} columns, got ${cells.length}`,
  );
}

const MISSING = /^(|-|–|—|n\/?a|null|nan)$/i;
const TIME = /^(\S*?)\s*(ms|s|us|µs|μs)$/;
const MS_OF: Readonly<Record<string, number>> = { ms: 1, s: 1_000, us: 0.001, µs: 0.001, μs: 0.001 };

function isName(cell: string): boolean {
  const [, digits = cell] = TIME.exec(cell) ?? [];
  return !MISSING.test(cell) && (digits === "" || Number.isNaN(Number(digits)));
}

function parseCell(cell: string, place: string): number | null {
  if (MISSING.test(cell)) return null;
  const [, digits = cell, unit = "ms"] = TIME.exec(cell) ?? [];
  const value = digits === "" ? Number.NaN : Number(digits) * MS_OF[unit]!;
  if (!Number.isFinite(value))
    fail(`${place}: a round-trip time must be a number of ms, got ${JSON.stringify(cell)}`);
  if (value > MAX_RTT_MS) fail(`${place}: a round-trip time must be at most ${MAX_RTT_MS} ms, got ${cell}`);
  return value > 0 ? value : null;
}

function fail(message: string): never {
  throw new NetworkError("invalid_matrix", message);
}

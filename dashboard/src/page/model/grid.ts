// The matrix as numbers, for nodes, zones or regions; area cells are medians of their pairs.
import { median, samplesForPercentile } from "@isochrone/primitives";
import { estimateMs, isDown, PAIR, type ClusterView } from "./cluster-view.ts";
import type { Level, Quantity } from "./route.ts";
import type { Measure } from "./scale.ts";

/** Kind of a cell; `scarce`: too few samples for the shown quantity. */
export const CELL = { nothing: 0, measured: 1, estimated: 2, dead: 3, self: 4, scarce: 5 } as const;
export const MARK = { lossy: 16, stale: 32, provisional: 64 } as const;
export const KIND_BITS = 15;

const LOSSY = 0.001;

interface Band {
  readonly label: string;
  readonly region: string;
  readonly begin: number;
  readonly end: number;
}

export interface Grid {
  readonly level: Level;
  readonly quantity: Quantity;
  readonly size: number;
  readonly labels: readonly string[];
  readonly bands: readonly Band[];
  readonly values: Float32Array;
  readonly cells: Uint8Array;
}

export function measureOf(quantity: Quantity): Measure {
  return quantity === "loss" ? "loss" : quantity === "age" ? "seconds" : "ms";
}

/** The graph has null percentiles below this many samples. */
export const LEAST_SAMPLES: Readonly<Partial<Record<Quantity, number>>> = {
  p90: samplesForPercentile(0.9),
  p99: samplesForPercentile(0.99),
};

const COLUMN = { p50: "p50", p90: "p90", p99: "p99", loss: "lossRatio", age: "ageSeconds" } as const;

/** Larger clusters are shown by zone: no canvas has more cells. */
const MAX_ROWS = 2_500;

export function usualLevel(nodes: number): Level {
  return nodes > 1_200 ? "zones" : "nodes";
}

export type Spent = Pick<Grid, "values" | "cells">;

/** @param spent reused if of the right size, to avoid megabytes of garbage per version */
export function gridOf(
  view: ClusterView,
  quantity: Quantity,
  level: Level,
  spent: Spent | null = null,
): Grid {
  return level === "nodes" && view.nodes.length <= MAX_ROWS
    ? nodeGrid(view, quantity, spent)
    : areaGrid(view, quantity, level === "regions" ? "regions" : "zones");
}

function emptyCells(size: number, spent: Spent | null): Spent {
  const fits = spent !== null && spent.cells.length === size * size;
  const { values, cells } = fits
    ? spent
    : { values: new Float32Array(size * size), cells: new Uint8Array(size * size) };
  return { values: values.fill(Number.NaN), cells: cells.fill(0) };
}

function nodeGrid(view: ClusterView, quantity: Quantity, spent: Spent | null): Grid {
  const { nodes, areas, pairs } = view;
  const size = nodes.length;
  const { values, cells } = emptyCells(size, spent);
  if (isOfEstimates(quantity)) estimateAll(view, values, cells);
  const column = pairs.figures[COLUMN[quantity]];
  for (let row = 0; row < size; row++) {
    for (let at = pairs.rowStart[row]!; at < pairs.rowStart[row + 1]!; at++) {
      const cell = row * size + pairs.column[at]!;
      const value = figureAt(view, at, column[at]!, quantity);
      const [kind, shown] = kindAt(view, at, value, quantity);
      if (kind === CELL.nothing || (kind === CELL.scarce && cells[cell] === CELL.estimated)) continue;
      cells[cell] = kind | marksAt(view, at, quantity);
      values[cell] = shown;
    }
    cells[row * size + row] = CELL.self;
    values[row * size + row] = Number.NaN;
  }
  return {
    level: "nodes",
    quantity,
    size,
    labels: nodes.map(({ name }) => name),
    bands: areas.map(({ zone, region, begin, end }) => ({ label: zone, region, begin, end })),
    values,
    cells,
  };
}

/** Estimates give usual round trips, not slow ones. */
function isOfEstimates(quantity: Quantity): boolean {
  return quantity === "p50";
}

/** A declared or estimated link has a cost but no quantiles. */
function figureAt({ pairs }: ClusterView, at: number, figure: number, quantity: Quantity): number {
  return isGuess(pairs.flags[at]!) && isOfEstimates(quantity) ? pairs.figures.costMs[at]! : figure;
}

const isGuess = (flags: number): boolean => (flags & (PAIR.estimated | PAIR.declared)) !== 0;

function kindAt(
  { pairs }: ClusterView,
  at: number,
  value: number,
  quantity: Quantity,
): readonly [kind: number, value: number] {
  const flags = pairs.flags[at]!;
  if ((flags & PAIR.dead) !== 0 && quantity !== "age") return [CELL.dead, Number.NaN];
  if (!Number.isNaN(value)) return [isGuess(flags) ? CELL.estimated : CELL.measured, value];
  return [isGuess(flags) || quantity === "age" ? CELL.nothing : CELL.scarce, value];
}

function marksAt({ pairs }: ClusterView, at: number, quantity: Quantity): number {
  const flags = pairs.flags[at]!;
  const loss = pairs.figures.lossRatio[at]!;
  return (
    (loss > LOSSY && quantity !== "loss" ? MARK.lossy : 0) |
    ((flags & PAIR.stale) === 0 ? 0 : MARK.stale) |
    ((flags & PAIR.provisional) === 0 ? 0 : MARK.provisional)
  );
}

function estimateAll({ nodes, coordinates }: ClusterView, values: Float32Array, cells: Uint8Array): void {
  if (coordinates === null || coordinates === undefined) return;
  const size = nodes.length;
  for (let row = 0; row < size; row++) {
    const from = nodes[row]!.coordinate;
    if (from === null || isDown(nodes[row]!)) continue;
    for (let column = row + 1; column < size; column++) {
      const ms = estimateMs(from, nodes[column]!.coordinate);
      if (Number.isNaN(ms) || isDown(nodes[column]!)) continue;
      values[row * size + column] = values[column * size + row] = ms;
      cells[row * size + column] = cells[column * size + row] = CELL.estimated;
    }
  }
}

interface Group {
  readonly label: string;
  readonly region: string;
  readonly members: readonly number[];
}

interface Found {
  readonly measured: number[];
  readonly guessed: number[];
  marks: number;
  dead: number;
  scarce: number;
}

function areaCell({ measured, guessed, marks, dead, scarce }: Found): readonly [cell: number, value: number] {
  const lossy = dead > 0 ? MARK.lossy : 0;
  if (measured.length > 0) return [CELL.measured | marks | lossy, median(measured)!];
  if (dead > 0 && scarce === 0) return [CELL.dead, Number.NaN];
  if (guessed.length > 0) return [CELL.estimated, median(guessed)!];
  return scarce > 0 ? [CELL.scarce | lossy, Number.NaN] : [CELL.nothing, Number.NaN];
}

function areaGrid(view: ClusterView, quantity: Quantity, level: "zones" | "regions"): Grid {
  const groups = groupsOf(view, level);
  const size = groups.length;
  const { values, cells } = emptyCells(size, null);
  const groupAt = new Int32Array(view.nodes.length);
  for (const [index, { members }] of groups.entries()) for (const node of members) groupAt[node] = index;
  const found = Array.from({ length: size * size }, (): Found => ({
    measured: [],
    guessed: [],
    marks: 0,
    dead: 0,
    scarce: 0,
  }));
  const { pairs } = view;
  const column = pairs.figures[COLUMN[quantity]];
  for (let row = 0; row < view.nodes.length; row++)
    for (let at = pairs.rowStart[row]!; at < pairs.rowStart[row + 1]!; at++) {
      const cell = found[groupAt[row]! * size + groupAt[pairs.column[at]!]!]!;
      const [kind, value] = kindAt(view, at, figureAt(view, at, column[at]!, quantity), quantity);
      if (kind === CELL.dead) cell.dead++;
      else if (kind === CELL.scarce) cell.scarce++;
      else if (kind === CELL.measured) cell.measured.push(value);
      else if (kind === CELL.estimated) cell.guessed.push(value);
      cell.marks |= marksAt(view, at, quantity);
    }
  for (const [cell, seen] of found.entries()) {
    const isUnknown = isOfEstimates(quantity) && seen.measured.length === 0 && seen.guessed.length === 0;
    if (isUnknown)
      seen.guessed.push(...guessesBetween(view, groups[Math.floor(cell / size)]!, groups[cell % size]!));
    [cells[cell], values[cell]] = areaCell(seen);
  }
  return {
    level,
    quantity,
    size,
    labels: groups.map(({ label }) => label),
    bands: bandsOf(groups),
    values,
    cells,
  };
}

const SAMPLE = 5;

function guessesBetween({ nodes, coordinates }: ClusterView, from: Group, to: Group): number[] {
  if (coordinates === null || coordinates === undefined) return [];
  const some = ({ members }: Group): readonly number[] =>
    members
      .filter((member) => !isDown(nodes[member]!))
      .filter((_, index) => index % Math.ceil(members.length / SAMPLE) === 0);
  const guesses: number[] = [];
  for (const row of some(from))
    for (const column of some(to)) {
      const ms = row === column ? Number.NaN : estimateMs(nodes[row]!.coordinate, nodes[column]!.coordinate);
      if (!Number.isNaN(ms)) guesses.push(ms);
    }
  return guesses;
}

function groupsOf({ areas }: ClusterView, level: "zones" | "regions"): Group[] {
  const groups = new Map<string, { label: string; region: string; members: number[] }>();
  for (const { region, zone, begin, end } of areas) {
    const label = level === "regions" ? region : zone;
    const key = `${region}\n${label}`;
    const group = groups.get(key) ?? { label, region, members: [] };
    for (let node = begin; node < end; node++) group.members.push(node);
    groups.set(key, group);
  }
  return [...groups.values()];
}

function bandsOf(groups: readonly Group[]): Band[] {
  const bands: Band[] = [];
  for (const [index, { region }] of groups.entries()) {
    const last = bands.at(-1);
    if (last?.region === region) bands[bands.length - 1] = { ...last, end: index + 1 };
    else bands.push({ label: region, region, begin: index, end: index + 1 });
  }
  return bands;
}

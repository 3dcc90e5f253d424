import { downWords, estimateMs, findPair, PAIR, type ClusterView } from "../../model/cluster-view.ts";
import { age, clockTime, milliseconds, percent, plural } from "../../model/format.ts";
import type { Quantity } from "../../model/route.ts";
import { CELL, KIND_BITS, LEAST_SAMPLES, measureOf, type Grid } from "../../model/grid.ts";
import type { Cell } from "./scene.ts";

export interface CellWords {
  readonly title: string;
  readonly lines: readonly string[];
}

export const QUANTITY_NAMES: Readonly<Record<Quantity, string>> = {
  p50: "Median round trip",
  p90: "90th percentile",
  p99: "99th percentile",
  loss: "Loss",
  age: "Age of the newest answer",
};

export function cellWords({ row, column }: Cell, grid: Grid, view: ClusterView): CellWords | null {
  const [from, to] = [grid.labels[row], grid.labels[column]];
  if (from === undefined || to === undefined) return null;
  const cell = row * grid.size + column;
  const kind = grid.cells[cell]! & KIND_BITS;
  if (kind === CELL.self) return { title: from, lines: ["the node itself"] };
  const lines =
    grid.level === "nodes"
      ? [...wayWords(view, row, column, grid.quantity), ...backWords(view, row, column)]
      : [areaWords(grid, cell)];
  return { title: `${from} → ${to}`, lines };
}

function areaWords({ quantity, cells, values }: Grid, cell: number): string {
  const measure = measureOf(quantity);
  const value = values[cell]!;
  const figure =
    measure === "loss" ? percent(value) : measure === "seconds" ? age(value) : milliseconds(value);
  switch (cells[cell]! & KIND_BITS) {
    case CELL.nothing:
      return "no pair is measured";
    case CELL.dead:
      return "no answer: every packet of every measured pair was lost";
    case CELL.scarce:
      return "too few samples in each measured pair";
    case CELL.estimated:
      return `about ${figure}, estimated: no pair is measured`;
    default:
      return `${figure}, median of the measured pairs`;
  }
}

function wayWords(view: ClusterView, row: number, column: number, quantity: Quantity): string[] {
  const down = [row, column].flatMap((each) => downText(view, each) ?? []);
  if (down.length > 0) return down;
  const at = findPair(view.pairs, row, column);
  if (at < 0) return estimateWords(view, row, column);
  const { p50, p90, p99, lossRatio, ageSeconds, count, costMs } = view.pairs.figures;
  const flags = view.pairs.flags[at]!;
  if ((flags & PAIR.declared) !== 0) return [`declared cost ${milliseconds(costMs[at])}, not measured`];
  if ((flags & PAIR.estimated) !== 0)
    return [`median about ${milliseconds(costMs[at])}, estimated, not measured`];
  if ((flags & PAIR.dead) !== 0) return ["no answer: every packet was lost"];
  const [samples, loss] = [count[at]!, lossRatio[at]!];
  const seconds = ageSeconds[at]!;
  const newest = seconds < 1 ? "just now" : `${age(seconds)} ago`;
  const old = (flags & PAIR.stale) === 0 ? "" : ", old";
  const quantiles = [
    `median ${milliseconds(p50[at])}`,
    percentileWords("p90", p90[at]!, samples),
    percentileWords("p99", p99[at]!, samples),
  ];
  const shown = quantity === "p90" ? 1 : quantity === "p99" ? 2 : 0;
  return [
    ...(Number.isNaN(p50[at]!)
      ? estimateWords(view, row, column)
      : [quantiles[shown]!, ...quantiles.filter((_, index) => index !== shown)]),
    `loss ${percent(loss)}`,
    `${plural(samples, "sample")}, the newest ${newest}${old}`,
  ];
}

function downText({ nodes, observedAt }: ClusterView, row: number): string | null {
  return downWords(nodes[row]!, (at) => clockTime(at, Date.parse(observedAt)));
}

function percentileWords(name: "p90" | "p99", ms: number, samples: number): string {
  return Number.isNaN(ms)
    ? `${name}: too few samples, ${samples} of ${LEAST_SAMPLES[name]!}`
    : `${name} ${milliseconds(ms)}`;
}

function estimateWords({ nodes, coordinates }: ClusterView, row: number, column: number): string[] {
  const ms =
    coordinates === null || coordinates === undefined
      ? Number.NaN
      : estimateMs(nodes[row]!.coordinate, nodes[column]!.coordinate);
  return Number.isNaN(ms)
    ? ["not measured"]
    : [`median about ${milliseconds(ms)}, estimated from coordinates, not measured`];
}

function backWords({ pairs }: ClusterView, row: number, column: number): string[] {
  const at = findPair(pairs, column, row);
  if (at < 0) return [];
  if ((pairs.flags[at]! & PAIR.dead) !== 0) return ["measured from the other end: no answer"];
  const ms = pairs.figures.p50[at]!;
  return Number.isNaN(ms) ? [] : [`measured from the other end: median ${milliseconds(ms)}`];
}

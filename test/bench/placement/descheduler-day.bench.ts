// Compares with a new plan at each step and with mode paper. ISOCHRONE_BENCH_MATRICES names files of real
// matrices, joined by the path delimiter: one folder is one day, ordered by the numbers at the ends.
// `--quick`: six hours. ISOCHRONE_BENCH_TABLE names a file for the table.
import { writeFileSync } from "node:fs";
import { basename, delimiter, dirname } from "node:path";
import { loadMatrix } from "@isochrone/lab";
import { day, HOUR_MS } from "../../harness/descheduler/drift.ts";
import type { Day } from "../../harness/descheduler/drift.ts";
import { hastyMoves, simulate, undoneMoves } from "../../harness/descheduler/simulate.ts";
import type { SimulatedDay } from "../../harness/descheduler/simulate.ts";
import type { BenchResult } from "../types.ts";

const HOURS = process.argv.includes("--quick") ? 6 : 24;
const STEP_MS = 60_000;
const COOL_DOWN_MS = 15 * 60_000;
/** ISOCHRONE_BENCH_SEEDS overrides the seeds, such as `1,2,3`. Measured networks use the first. */
const SEEDS = (process.env["ISOCHRONE_BENCH_SEEDS"] ?? "1").split(",").map(Number);
const MAX_COST = 1.1;
const MAX_MOVES = 0.2;
/** Seattle's files are in seconds: all of its entries are below this. */
const SECONDS_BELOW = 10;

export async function run(): Promise<BenchResult[]> {
  const days: [name: string, day: Day][] = SEEDS.map((seed) => [
    `made up, seed ${seed}`,
    day(seed, [], HOURS),
  ]);
  for (const [name, slices] of measuredDays()) days.push([name, day(SEEDS[0]!, slices, HOURS)]);
  const results: BenchResult[] = [];
  const lines = [
    "| network | mode | cost / re-planned | left alone / re-planned | moves | of re-planned moves | within the cool-down | undone within an hour | workloads in one zone |",
    "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
  ];
  for (const [name, each] of days) {
    for (const mode of ["evict", "paper"] as const) {
      const settings = { coolDownMs: COOL_DOWN_MS };
      const found = await simulate({ day: each, hours: HOURS, mode, stepMs: STEP_MS, settings });
      lines.push(lineOf(name, found));
      console.error(lines.at(-1));
      results.push(...rowsOf(name, found));
    }
  }
  const file = process.env["ISOCHRONE_BENCH_TABLE"];
  if (file !== undefined) writeFileSync(file, `${lines.join("\n")}\n`);
  return results;
}

function rowsOf(network: string, found: SimulatedDay): BenchResult[] {
  const isRule = found.mode === "evict";
  const row = (what: string, value: number, most: number): BenchResult => ({
    name: `descheduler, ${HOURS} h, ${network}, ${found.mode}: ${what}`,
    value,
    unit: "",
    ...(isRule ? { target: `<= ${most}`, met: value <= most } : {}),
  });
  return [
    row("cost / re-planning at each step", found.cost / found.replanCost, MAX_COST),
    row("moves / re-planning at each step", found.moves.length / Math.max(1, found.replanMoves), MAX_MOVES),
    row("moves within the cool-down", hastyMoves(found.moves, COOL_DOWN_MS).length, 0),
    row("moves undone within an hour", undoneMoves(found.moves, HOUR_MS).length, 0),
  ];
}

function lineOf(network: string, found: SimulatedDay): string {
  const { mode, cost, replanCost, idleCost, moves, replanMoves, oneZoneShare } = found;
  const cells = [
    network,
    mode,
    (cost / replanCost).toFixed(3),
    (idleCost / replanCost).toFixed(3),
    moves.length,
    `${((100 * moves.length) / Math.max(1, replanMoves)).toFixed(1)} %`,
    hastyMoves(moves, COOL_DOWN_MS).length,
    undoneMoves(moves, HOUR_MS).length,
    `${(100 * oneZoneShare).toFixed(0)} %`,
  ];
  return `| ${cells.join(" | ")} |`;
}

function measuredDays(): Map<string, number[][][]> {
  const files = (process.env["ISOCHRONE_BENCH_MATRICES"] ?? "")
    .split(delimiter)
    .filter((file) => file !== "");
  const days = new Map<string, number[][][]>();
  const sliceOf = (file: string): number => Number(/\d+$/.exec(basename(file))?.[0] ?? 0);
  for (const file of files.sort((a, b) => sliceOf(a) - sliceOf(b))) {
    const matrix = loadMatrix(file).map((row) => row.map((ms) => ms ?? 0));
    const most = Math.max(...matrix.map((row) => Math.max(...row)));
    const unit = most < SECONDS_BELOW ? 1_000 : 1;
    const name = basename(dirname(file));
    days.set(name, [...(days.get(name) ?? []), matrix.map((row) => row.map((ms) => ms * unit))]);
  }
  return days;
}

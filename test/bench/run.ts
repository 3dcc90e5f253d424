// Runs each *.bench.ts in its own process. Arguments: parts of paths that select files. `--json` prints JSON
// lines. Passes arguments that begin with -- on; some files support `--quick`.
import { spawn } from "node:child_process";
import { globSync } from "node:fs";
import { dirname, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { reasonOf } from "@isochrone/primitives";
import type { BenchResult } from "./types.ts";

interface Row extends BenchResult {
  readonly file: string;
}

const here = dirname(fileURLToPath(import.meta.url));
const child = fileURLToPath(new URL("run-one.ts", import.meta.url));

const filters = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const flags = process.argv.slice(2).filter((argument) => argument.startsWith("--"));
const asJson = process.argv.includes("--json");

const files = globSync("**/*.bench.ts", { cwd: here })
  .filter((file) => filters.length === 0 || filters.some((filter) => file.includes(filter)))
  .sort();

function runFile(file: string): Promise<readonly BenchResult[]> {
  return new Promise((resolve, reject) => {
    const results: BenchResult[] = [];
    const running = spawn(process.execPath, [...process.execArgv, child, file, ...flags], {
      cwd: here,
      stdio: ["ignore", "inherit", "inherit", "ipc"],
      serialization: "json",
    });
    running.on("message", (message) => results.push(...(message as BenchResult[])));
    running.on("error", reject);
    running.on("close", (code, signal) => {
      if (code === 0) resolve(results);
      else reject(new Error(`${file} ended with ${signal ?? `exit code ${code}`}`));
    });
  });
}

function cells(row: Row): string[] {
  const verdict = row.met === undefined ? "" : row.met ? "met" : "MISSED";
  const peer =
    row.peer === undefined ? "" : `${row.ratio === undefined ? "" : `${format(row.ratio)} x `}${row.peer}`;
  return [row.file, row.name, format(row.value), row.unit, row.target ?? "", verdict, peer];
}

function format(value: number): string {
  return Math.abs(value) >= 1_000
    ? Math.round(value).toLocaleString("en-US")
    : String(Number(value.toPrecision(4)));
}

const NUMBER_COLUMN = 2;

function printTable(rows: readonly Row[]): void {
  const table = [
    ["file", "benchmark", "value", "unit", "target", "verdict", "compared with"],
    ...rows.map(cells),
  ];
  const widths = table[0]!.map((_, column) => Math.max(...table.map((line) => line[column]!.length)));
  for (const line of table) {
    const padded = line.map((cell, column) => {
      return column === NUMBER_COLUMN ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!);
    });
    console.log(padded.join("  ").trimEnd());
  }
}

const rows: Row[] = [];
const failures: string[] = [];
for (const file of files) {
  console.error(`running ${relative(process.cwd(), `${here}/${file}`)}`);
  try {
    for (const result of await runFile(file))
      rows.push({ file: file.replace(/\.bench\.ts$/, ""), ...result });
  } catch (error) {
    failures.push(reasonOf(error));
  }
}
if (asJson) for (const row of rows) console.log(JSON.stringify(row));
else printTable(rows);
if (files.length === 0) failures.push(`no benchmark matches ${filters.join(", ")}`);
for (const failure of failures) console.error(failure);
if (failures.length > 0 || rows.some((row) => row.met === false)) process.exitCode = 1;

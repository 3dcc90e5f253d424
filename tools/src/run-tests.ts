// `npm test`: static checks, then the vitest suites in turn, each timed against its budget; the last line is
// a summary. Arguments name suites (check unit contract integration e2e paired measuring); none means all.
// Contract, integration and e2e share workers. `check layout` prints the measures of the layout instead.
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, homedir, tmpdir, totalmem } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { reasonOf } from "@isochrone/primitives";
import type { FileReport } from "./suite-report.ts";

interface SuiteResult {
  readonly name: string;
  readonly seconds: number;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly failures: readonly string[];
  readonly notes: readonly string[];
}

const root = join(import.meta.dirname, "../..");
const vitest = join(root, "node_modules/vitest/vitest.mjs");
const bin = (name: string): string => join(root, "node_modules/.bin", name);

/** Minutes for a warm run, 30 in total. Exceeding a budget is reported, not failed: machines are noisy. */
const BUDGETS: Readonly<Record<string, number>> = {
  check: 1,
  unit: 3,
  contract: 1,
  integration: 8,
  e2e: 2,
  paired: 7,
  measuring: 8,
};

/** Memory of a file with a control plane or three brokers. */
const BYTES_PER_CLUSTER = 2.5 * 2 ** 30;
/** Mostly waiting: each takes 0.4 cores. */
const CLUSTER_WORKERS = Math.max(
  1,
  Math.floor(Math.min(2.5 * availableParallelism(), totalmem() / BYTES_PER_CLUSTER)),
);

/** Parallel files: unit tests sometimes wait for timers, cluster tests mostly wait. The others run alone. */
const WORKERS: Readonly<Record<string, number>> = {
  unit: availableParallelism() + 1,
  contract: CLUSTER_WORKERS,
  integration: CLUSTER_WORKERS,
  e2e: CLUSTER_WORKERS,
  paired: 3,
};

/** Suites run as one, so that workers do not idle between them. */
const TOGETHER = ["contract", "integration", "e2e"];

/**
 * Tests use real packets, processes and timers on shared machines. A failed file is retried alone with a
 * fresh environment before it counts, which is reported. More failures than these per suite are not
 * accidental.
 */
const TRIES = 3;
const ONCE_MORE_FILES = 6;

const SEPARATOR = ", ";
const NAME_WIDTH = 22;
const nameOf = (suites: readonly string[]): string => suites.join(SEPARATOR);

/**
 * Types and lint of all packages at once. `npm run typecheck` and `npm run lint` check changes, and re-read
 * shared sources per package.
 */
const CHECKS: readonly (readonly [string, string, readonly string[]])[] = [
  ["format", bin("oxfmt"), ["--check", "."]],
  ["typecheck", bin("tsc"), ["-p", "tsconfig.json"]],
  ["typecheck of the pages", bin("tsc"), ["-p", "dashboard"]],
  ["lint", bin("oxlint"), ["-c", ".oxlintrc.json", "--type-aware", "--deny-warnings", "."]],
  ["architecture", process.execPath, [join(root, "tools/src/check-architecture.ts")]],
  ["layout", process.execPath, [join(root, "tools/src/check-layout.ts"), "--check"]],
  ["generated docs", process.execPath, [join(root, "tools/src/generate-docs.ts"), "--check"]],
];

const environment = {
  ...process.env,
  // Tools use `#!/usr/bin/env node`, so this Node must be first on the path.
  PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ""}`,
  // Tests start hundreds of processes of the same programs, which would each compile them. Shared with the
  // command.
  NODE_COMPILE_CACHE:
    process.env["NODE_COMPILE_CACHE"] ??
    join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "isochrone", "compile"),
};

function run(
  command: string,
  args: readonly string[],
  quiet: boolean,
  variables: Readonly<Record<string, string>> = {},
): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: root,
      env: { ...environment, ...variables },
      stdio: ["ignore", quiet ? "pipe" : "inherit", quiet ? "pipe" : "inherit"],
    });
    let output = "";
    child.stdout?.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.stderr?.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.on("error", (error) => resolve({ code: 1, output: error.message }));
    child.on("exit", (code) => resolve({ code: code ?? 1, output }));
  });
}

async function runChecks(): Promise<SuiteResult> {
  const started = performance.now();
  const failures: string[] = [];
  for (const [name, command, args] of CHECKS) {
    const { code, output } = await run(command, args, true);
    console.log(`  ${code === 0 ? "ok  " : "FAIL"} ${name}`);
    if (code === 0) continue;
    failures.push(name);
    console.log(output.trimEnd());
  }
  return {
    name: "check",
    passed: CHECKS.length - failures.length,
    failed: failures.length,
    skipped: 0,
    seconds: (performance.now() - started) / 1000,
    failures,
    notes: [],
  };
}

async function runVitest(suites: readonly string[]): Promise<SuiteResult> {
  const started = performance.now();
  const name = nameOf(suites);
  let reports = await reportsOf(suites, Math.max(...suites.map((suite) => WORKERS[suite] ?? 1)));
  const notes = reports.flatMap(({ flaky }) => flaky.map((test) => `passed at a second try: ${test}`));
  for (let attempt = 2; attempt <= TRIES; attempt++) {
    const bad = reports.filter(({ failures }) => failures.length > 0);
    if (bad.length === 0 || bad.length > ONCE_MORE_FILES * suites.length) break;
    const paths = new Set(bad.map(({ path }) => path));
    console.log(`\n== ${name}, try ${attempt}: ${[...paths].join(" ")}`);
    const again = new Map((await reportsOf(suites, 1, [...paths])).map((report) => [report.path, report]));
    for (const { path, failures } of bad) {
      const isGood = again.get(path)?.failures.length === 0;
      notes.push(
        ...failures.map((failure) => `${isGood ? "passed at" : "failed before"} try ${attempt}: ${failure}`),
      );
    }
    reports = reports.map((report) => again.get(report.path) ?? report);
  }
  const failures = reports.flatMap((report) => report.failures);
  const sum = (key: "passed" | "skipped"): number => reports.reduce((total, each) => total + each[key], 0);
  return {
    name,
    seconds: (performance.now() - started) / 1000,
    passed: sum("passed"),
    failed: failures.length,
    skipped: sum("skipped"),
    failures,
    notes,
  };
}

async function reportsOf(
  suites: readonly string[],
  workers: number,
  paths: readonly string[] = [],
): Promise<FileReport[]> {
  const directory = join(tmpdir(), `isochrone-test-${process.pid}`);
  mkdirSync(directory, { recursive: true });
  const file = join(directory, "report.json");
  const args = [
    vitest,
    "run",
    ...suites.flatMap((suite) => ["--project", suite]),
    "--passWithNoTests",
    "--reporter=default",
    `--reporter=${join(root, "tools/src/suite-report.ts")}`,
    `--maxWorkers=${workers}`,
    ...paths,
  ];
  const { code } = await run(process.execPath, args, false, { ISOCHRONE_SUITE_REPORT: file });
  const broken = (why: string): FileReport => ({
    path: nameOf(suites),
    passed: 0,
    skipped: 0,
    failures: [why],
    flaky: [],
  });
  try {
    const reports = JSON.parse(readFileSync(file, "utf8")) as FileReport[];
    const isBad = reports.some(({ failures }) => failures.length > 0);
    return code === 0 || isBad ? reports : [...reports, broken(`vitest ended with ${code}`)];
  } catch (error) {
    return [broken(`no report: ${reasonOf(error)}`)];
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function printSummary(results: readonly SuiteResult[]): void {
  console.log(
    `\n${"suite".padEnd(NAME_WIDTH)}  passed  failed  skipped      time   budget   (${availableParallelism()} cores)`,
  );
  for (const { name, passed, failed, skipped, seconds, failures, notes } of results) {
    const budget = 60 * name.split(SEPARATOR).reduce((sum, suite) => sum + (BUDGETS[suite] ?? 1), 0);
    const warning = seconds > budget ? `  WARNING: over budget by ${(seconds - budget).toFixed(0)} s` : "";
    const cells = [passed, failed, skipped].map((value) => String(value).padStart(8)).join("");
    console.log(
      `${name.padEnd(NAME_WIDTH)}${cells}${seconds.toFixed(1).padStart(9)}s${String(budget).padStart(8)}s${warning}`,
    );
    for (const note of notes) console.log(`    ${note}`);
    for (const failure of failures) console.log(`    failed: ${failure}`);
  }
}

const all = Object.keys(BUDGETS);
const wanted = process.argv.slice(2);
if (wanted[0] === "check" && wanted[1] === "layout") {
  const { code } = await run(
    process.execPath,
    [join(root, "tools/src/check-layout.ts"), ...wanted.slice(2)],
    false,
  );
  process.exit(code);
}
const unknown = wanted.filter((name) => !all.includes(name));
if (unknown.length > 0) {
  console.error(`suite must be one of ${all.join(", ")}; got ${unknown.join(", ")}`);
  process.exit(2);
}

function runsOf(suites: readonly string[]): string[][] {
  const runs: string[][] = [];
  for (const suite of new Set(suites)) {
    const run = runs.find(([first]) => TOGETHER.includes(first!) && TOGETHER.includes(suite));
    if (run === undefined) runs.push([suite]);
    else run.push(suite);
  }
  return runs;
}

/** Best effort: prepares what suites use beyond an install; they report what is missing. */
async function prepare(): Promise<void> {
  const { code, output } = await run(process.execPath, [join(root, "tools/src/build-net-ping.ts")], true);
  if (code !== 0) console.log(output.trimEnd());
  const suites = wanted.length > 0 ? wanted : all;
  if (!suites.some((suite) => ["contract", "integration", "e2e", "paired", "measuring"].includes(suite)))
    return;
  await run(process.execPath, [join(root, "test/harness/prepare.ts")], false);
}

const results: SuiteResult[] = [];
await prepare();
for (const suites of runsOf(wanted.length > 0 ? wanted : all)) {
  console.log(`\n== ${nameOf(suites)}`);
  results.push(suites.includes("check") ? await runChecks() : await runVitest(suites));
}
printSummary(results);
const total = (key: "passed" | "failed" | "skipped"): number =>
  results.reduce((sum, result) => sum + result[key], 0);
const skipped = total("skipped");
console.log(
  `\n${total("passed")} passed, ${total("failed")} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`,
);
process.exitCode = total("failed") > 0 ? 1 : 0;

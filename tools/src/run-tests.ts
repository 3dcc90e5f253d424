// `npm test`: static checks, then the vitest suites one after the other, each timed against its budget; the last line counts everything.
// Arguments name suites (check unit contract integration e2e); none means all.
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";

interface SuiteResult {
  readonly name: string;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly seconds: number;
  readonly failures: readonly string[];
}

const root = join(import.meta.dirname, "../..");
const vitest = join(root, "node_modules/vitest/vitest.mjs");
const bin = (name: string): string => join(root, "node_modules/.bin", name);

/** Minutes for a warm run; unit and contract share three. A suite above its budget is reported, not failed: machines are noisy. */
const BUDGETS: Readonly<Record<string, number>> = {
  check: 2,
  unit: 2.5,
  contract: 0.5,
  integration: 8,
  e2e: 8,
};

const CHECKS: readonly (readonly [string, string, readonly string[]])[] = [
  ["format", bin("oxfmt"), ["--check", "."]],
  ["typecheck", bin("nx"), ["run-many", "-t", "typecheck", "--outputStyle=static"]],
  ["lint", bin("nx"), ["run-many", "-t", "lint", "--outputStyle=static"]],
  ["architecture", process.execPath, [join(root, "tools/src/check-architecture.ts")]],
  ["generated docs", process.execPath, [join(root, "tools/src/generate-docs.ts"), "--check"]],
];

/** nx and the tools it runs are scripts with `#!/usr/bin/env node`: put this Node first on their path. */
const environment = {
  ...process.env,
  PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ""}`,
  NX_TUI: "false",
};

function run(
  command: string,
  args: readonly string[],
  quiet: boolean,
): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: root,
      env: environment,
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
  };
}

interface VitestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests?: number;
  readonly numFailedTestSuites: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message?: string;
  }[];
}

async function runVitest(suite: string): Promise<SuiteResult> {
  const started = performance.now();
  const directory = join(tmpdir(), `isochrone-test-${process.pid}`);
  mkdirSync(directory, { recursive: true });
  const file = join(directory, `${suite}.json`);
  const args = [
    vitest,
    "run",
    "--project",
    suite,
    "--passWithNoTests",
    "--reporter=default",
    "--reporter=json",
    `--outputFile.json=${file}`,
  ];
  const { code } = await run(process.execPath, args, false);
  const seconds = (performance.now() - started) / 1000;
  try {
    const report = JSON.parse(readFileSync(file, "utf8")) as VitestReport;
    const broken = report.testResults
      .filter(({ status }) => status === "failed")
      .map(({ name }) => name.replace(`${root}/`, ""));
    // A file that could not be loaded has no failed test of its own, and unhandled errors fail the run alone: both must count.
    const failed = Math.max(report.numFailedTests, broken.length, code === 0 ? 0 : 1);
    return {
      name: suite,
      passed: report.numPassedTests,
      failed,
      skipped: report.numPendingTests,
      seconds,
      failures: broken,
    };
  } catch (error) {
    return {
      name: suite,
      passed: 0,
      failed: 1,
      skipped: 0,
      seconds,
      failures: [`no report: ${(error as Error).message}`],
    };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function printSummary(results: readonly SuiteResult[]): void {
  console.log(
    `\nsuite         passed  failed  skipped      time   budget   (${availableParallelism()} cores)`,
  );
  for (const { name, passed, failed, skipped, seconds, failures } of results) {
    const budget = (BUDGETS[name] ?? 1) * 60;
    const warning = seconds > budget ? `  WARNING: over budget by ${(seconds - budget).toFixed(0)} s` : "";
    const cells = [passed, failed, skipped].map((value) => String(value).padStart(8)).join("");
    console.log(
      `${name.padEnd(12)}${cells}${seconds.toFixed(1).padStart(9)}s${String(budget).padStart(8)}s${warning}`,
    );
    for (const failure of failures) console.log(`    failed: ${failure}`);
  }
}

const all = Object.keys(BUDGETS);
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !all.includes(name));
if (unknown.length > 0) {
  console.error(`suite must be one of ${all.join(", ")}; got ${unknown.join(", ")}`);
  process.exit(2);
}

const results: SuiteResult[] = [];
for (const suite of wanted.length > 0 ? wanted : all) {
  console.log(`\n== ${suite}`);
  results.push(suite === "check" ? await runChecks() : await runVitest(suite));
}
printSummary(results);
const total = (key: "passed" | "failed" | "skipped"): number =>
  results.reduce((sum, result) => sum + result[key], 0);
const skipped = total("skipped");
console.log(
  `\n${total("passed")} passed, ${total("failed")} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`,
);
process.exitCode = total("failed") > 0 ? 1 : 0;

// A vitest reporter: what `npm test` says at its end, as JSON in the file that ISOCHRONE_SUITE_REPORT names.
import { writeFileSync } from "node:fs";
import { relative } from "node:path";
import type { Reporter, SerializedError, TestModule } from "vitest/node";
import { rememberDurations } from "./longest-first.ts";

/** One file's outcome. */
export interface FileReport {
  /** From the root of the repository. */
  readonly path: string;
  readonly passed: number;
  readonly skipped: number;
  /** A line each: file, test, reason. A test that was tried twice gives the reason of the first time. */
  readonly failures: readonly string[];
  /** Tests that passed, but not at once, each with the reason of the first time. */
  readonly flaky: readonly string[];
}

const MAX_REASON = 300;
/** Of errors that no file can be blamed for. */
const NO_FILE = "outside of all files";

export default class SuiteReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const file = process.env["ISOCHRONE_SUITE_REPORT"];
    if (file === undefined) throw new Error("ISOCHRONE_SUITE_REPORT must name the file to write");
    writeFileSync(file, JSON.stringify(reportsOf(modules, unhandled)));
    rememberDurations(durationsOf(modules));
  }
}

/** Of files that passed: those that failed may have waited for something that never came. */
function durationsOf(modules: readonly TestModule[]): Record<string, number> {
  const passed = modules.filter((module) => module.state() === "passed");
  return Object.fromEntries(
    passed.map((module) => {
      const { collectDuration, duration } = module.diagnostic();
      return [relative(process.cwd(), module.moduleId), Math.round((collectDuration + duration) / 100) / 10];
    }),
  );
}

function reportsOf(modules: readonly TestModule[], unhandled: readonly SerializedError[]): FileReport[] {
  const strays = Map.groupBy(unhandled, (error) => fileOf(error) ?? NO_FILE);
  const reports = modules.map((module): FileReport => {
    const report = reportOf(module);
    const own = (strays.get(report.path) ?? []).map((error) => strayLine(report.path, error));
    strays.delete(report.path);
    return { ...report, failures: [...report.failures, ...own] };
  });
  for (const [path, errors] of strays) {
    const failures = errors.map((error) => strayLine(path, error));
    reports.push({ path, passed: 0, skipped: 0, failures, flaky: [] });
  }
  return reports;
}

function reportOf(module: TestModule): FileReport {
  const path = relative(process.cwd(), module.moduleId);
  const failures: string[] = [];
  const flaky: string[] = [];
  let passed = 0;
  let skipped = 0;
  for (const test of module.children.allTests()) {
    const { state, errors } = test.result();
    const name = `${path} > ${test.fullName}`;
    if (state === "passed") passed += 1;
    else if (state !== "failed") skipped += 1;
    const line = `${name}: ${firstLine(errors?.[0]?.message)}`;
    if (state === "failed") failures.push(line);
    else if (test.diagnostic()?.flaky === true) flaky.push(line);
  }
  // A file that could not be loaded, or whose hooks failed, has no failed test of its own: it must count.
  if (module.state() === "failed" && failures.length === 0) {
    const errors = [module, ...module.children.allSuites()].flatMap((part) => part.errors());
    failures.push(`${path}: ${firstLine(errors[0]?.message)}`);
  }
  return { path, passed, skipped, failures, flaky };
}

/** Vitest says of an error that nobody caught in which file it was thrown, where it can. */
function fileOf(error: SerializedError): string | null {
  const path = error["VITEST_TEST_PATH"];
  return typeof path === "string" ? relative(process.cwd(), path) : null;
}

function strayLine(path: string, { message }: SerializedError): string {
  return `${path}: unhandled: ${firstLine(message)}`;
}

function firstLine(text = "failed outside its tests"): string {
  return text.trim().split("\n", 1)[0]!.slice(0, MAX_REASON);
}

// A vitest reporter that writes results for `npm test` as JSON to the file in ISOCHRONE_SUITE_REPORT.
import { writeFileSync } from "node:fs";
import { relative } from "node:path";
import type { Reporter, SerializedError, TestModule } from "vitest/node";
import { rememberDurations } from "./longest-first.ts";

export interface FileReport {
  readonly path: string;
  readonly passed: number;
  readonly skipped: number;
  /** One line each: file, test, reason of the first attempt. */
  readonly failures: readonly string[];
  readonly flaky: readonly string[];
}

const MAX_REASON = 300;
const NO_FILE = "outside of all files";

export default class SuiteReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const file = process.env["ISOCHRONE_SUITE_REPORT"];
    if (file === undefined) throw new Error("ISOCHRONE_SUITE_REPORT must name the file to write");
    writeFileSync(file, JSON.stringify(reportsOf(modules, unhandled)));
    rememberDurations(durationsOf(modules));
  }
}

/** Only passed files: failed ones may have waited for a timeout. */
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
  // A file that fails to load, or whose hooks fail, has no failed test but must count.
  if (module.state() === "failed" && failures.length === 0) {
    const errors = [module, ...module.children.allSuites()].flatMap((part) => part.errors());
    failures.push(`${path}: ${firstLine(errors[0]?.message)}`);
  }
  return { path, passed, skipped, failures, flaky };
}

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

// Reports of full runs in docs/results have each threat to validity of their scenario.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { listScenarios, scenarioFile } from "../scenario/catalogue.ts";
import { loadScenario } from "../scenario/read-scenario.ts";
import { readStreamScenario } from "../streams/scenario.ts";
import { html, prose } from "./html.ts";

const textOf = (name: string): string => readFileSync(scenarioFile(name)!, "utf8");

const results = join(import.meta.dirname, "../../../docs/results");
const reports = listScenarios()
  .map(({ name, kind }) => ({ name, kind, file: join(results, name, "report.html") }))
  .filter(({ file }) => existsSync(file));

describe("stored reports", () => {
  test("are there", () => {
    expect(reports.length).toBeGreaterThan(5);
  });

  test.each(reports)("$name has every threat to validity that its scenario names", ({ name, kind, file }) => {
    const text = readFileSync(file, "utf8");
    const { threats } =
      kind === "streams" ? readStreamScenario(textOf(name), name) : loadScenario(scenarioFile(name)!);
    const missing = threats.filter((threat) => !text.includes(html`<li>${prose(threat)}</li>`.text));
    expect(missing).toEqual([]);
  });
});

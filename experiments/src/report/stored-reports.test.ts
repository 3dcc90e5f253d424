// Reports of full runs in docs/results: a threat that a scenario names after its run belongs into its report, too.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { listScenarios, scenarioFile } from "../scenario/catalogue.ts";
import { loadScenario } from "../scenario/read-scenario.ts";
import { html, prose } from "./html.ts";

const results = join(import.meta.dirname, "../../../docs/results");
const reports = listScenarios()
  .map(({ name }) => ({ name, file: join(results, name, "report.html") }))
  .filter(({ file }) => existsSync(file));

describe("stored reports", () => {
  test("are there", () => {
    expect(reports.length).toBeGreaterThan(5);
  });

  test.each(reports)("$name has every threat to validity that its scenario names", ({ name, file }) => {
    const text = readFileSync(file, "utf8");
    const { threats } = loadScenario(scenarioFile(name)!, { quick: false });
    const missing = threats.filter((threat) => !text.includes(html`<li>${prose(threat)}</li>`.text));
    expect(missing).toEqual([]);
  });
});

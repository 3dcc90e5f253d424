// Reports of full runs in docs/results have each threat to validity of their scenario.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { listScenarios, scenarioFile, type CatalogueEntry } from "../scenario/catalogue.ts";
import { loadScenario } from "../scenario/read-scenario.ts";
import { readKaisScenario } from "../kais/scenario.ts";
import { readStreamScenario } from "../streams/scenario.ts";
import { readBillScenario } from "../bill/scenario.ts";
import { html, prose } from "./html.ts";

const textOf = (name: string): string => readFileSync(scenarioFile(name)!, "utf8");

const results = join(import.meta.dirname, "../../../docs/results");
const reports = listScenarios()
  .map(({ name, kind }) => ({ name, kind, file: join(results, name, "report.html") }))
  .filter(({ file }) => existsSync(file));

function threatsOf(name: string, kind: CatalogueEntry["kind"]): readonly string[] {
  switch (kind) {
    case "bill":
      return readBillScenario(textOf(name), name).threats;
    case "kais":
      return readKaisScenario(textOf(name), name).threats;
    case "streams":
      return readStreamScenario(textOf(name), name).threats;
    case "streams-example":
      return (parse(textOf(name)) as { readonly threats: readonly string[] }).threats;
    case "workflows":
      return loadScenario(scenarioFile(name)!).threats;
    default:
      throw new TypeError(`kind must be known, got ${String(kind satisfies never)}`);
  }
}

describe("stored reports", () => {
  test("are there", () => {
    expect(reports.length).toBeGreaterThan(5);
  });

  test.each(reports)("$name has every threat to validity that its scenario names", ({ name, kind, file }) => {
    const text = readFileSync(file, "utf8");
    const threats = threatsOf(name, kind);
    const missing = threats.filter((threat) => !text.includes(html`<li>${prose(threat)}</li>`.text));
    expect(missing).toEqual([]);
  });
});

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { threatRows, untestedClaims } from "./threat-model.ts";

const root = join(import.meta.dirname, "../..");
const HERE = "tools/src/threat-model.test.ts";
// Split, or this file would contain it.
const ABSENT = ["a title that", "nobody wrote"].join(" ");

function documentOf(...cells: readonly string[]): string {
  const rows = cells.map((cell) => `| a claim | what holds | ${cell} |`);
  return [
    "# Security",
    "| not | here |",
    "## Threat model",
    "### Part",
    "| who | what | test |",
    "| --- | --- | --- |",
    ...rows,
    "## After",
    "| nor | here |",
  ].join("\n");
}

test("a line of the threat model counts when its file has a test of that title", () => {
  const named = documentOf(
    `\`${HERE}\`: *a line of the threat model counts when its file has a test of that title*`,
  );
  expect(threatRows(named)).toHaveLength(1);
  expect(untestedClaims(named, root)).toEqual([]);
});

test.each([
  ["nothing", "it names no test"],
  ["`tools/src/gone.test.ts`: *a title*", "there is no file tools/src/gone.test.ts"],
  [`\`${HERE}\`: *${ABSENT}*`, `${HERE} has no test "${ABSENT}"`],
  [`\`${HERE}\`: *a line of the threat model counts*, *${ABSENT}*`, `${HERE} has no test "${ABSENT}"`],
])("a line that names %s is found", (cell, reason) => {
  expect(untestedClaims(documentOf(cell), root)).toEqual([{ claim: "a claim", reason }]);
});

test("each line of docs/security.md names a test that exists", () => {
  const document = readFileSync(join(root, "docs/security.md"), "utf8");
  expect(untestedClaims(document, root)).toEqual([]);
  expect(threatRows(document).length).toBeGreaterThan(20);
});

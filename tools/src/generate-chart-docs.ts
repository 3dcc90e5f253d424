// Writes the services' settings into helm/isochrone/values.schema.json and its limits file, and the table of
// values into docs/helm.md. With --check it only compares: exit code 1 on differences.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { settingsLimits, settingsSchema } from "./chart-schema.ts";
import { chartValues, chartValuesTable } from "./chart-values.ts";
import { SECTIONS } from "./settings-sections.ts";

const ROOT = join(import.meta.dirname, "../..");
const SCHEMA = "helm/isochrone/values.schema.json";
const LIMITS = "helm/isochrone/files/settings-limits.json";
const VALUES = "helm/isochrone/values.yaml";
const DOCUMENT = "docs/helm.md";
const BEGIN = "<!-- values: written by `npm run docs` from values.yaml -->\n";
const END = "\n<!-- end of values -->";

interface ValuesSchema {
  readonly definitions: Readonly<Record<string, unknown>>;
}

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const write = (path: string, text: string): void => writeFileSync(join(ROOT, path), text);

const schema = JSON.parse(read(SCHEMA)) as ValuesSchema;
const wantedSchema = {
  ...schema,
  definitions: { ...schema.definitions, settings: settingsSchema(SECTIONS) },
};
const wantedLimits = `${JSON.stringify(settingsLimits(SECTIONS))}\n`;
const document = read(DOCUMENT);
const [before, after] = [document.split(BEGIN)[0], document.split(END)[1]];
if (before === document || after === undefined)
  throw new Error(`${DOCUMENT} must have the marks of the table`);
const wantedDocument = `${before}${BEGIN}\n${chartValuesTable(chartValues(read(VALUES)))}\n${END}${after}`;

if (process.argv.includes("--check")) {
  const isSame =
    isDeepStrictEqual(schema, JSON.parse(JSON.stringify(wantedSchema))) &&
    isDeepStrictEqual(JSON.parse(read(LIMITS)), JSON.parse(wantedLimits)) &&
    document === wantedDocument;
  if (!isSame) {
    const files = `${SCHEMA}, ${LIMITS} and ${DOCUMENT}`;
    console.error(`${files} must match settings and values and do not; run "npm run docs"`);
    process.exitCode = 1;
  }
} else {
  write(SCHEMA, `${JSON.stringify(wantedSchema, null, 2)}\n`);
  write(LIMITS, wantedLimits);
  write(DOCUMENT, wantedDocument);
  console.log(`wrote ${SCHEMA}, ${LIMITS} and the table in ${DOCUMENT}`);
}

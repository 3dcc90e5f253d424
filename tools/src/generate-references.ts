// Writes the marked references in docs: registered metrics, named constants, chart rights, checked topics.
// With --check it only compares: exit code 1 on differences.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { metricsReference } from "./metrics-reference/render.ts";
import { recordedMetrics } from "./metrics-reference/services.ts";
import { documentedNames, namesTable } from "./names-reference.ts";
import { rightsTable } from "./rights-reference.ts";
import { topicsTable } from "./topics-reference.ts";

const ROOT = join(import.meta.dirname, "../..");
const BEGIN = "<!-- reference: written by `npm run docs` from the code -->\n";
const END = "\n<!-- end of the reference -->";

const references = {
  "docs/metrics.md": metricsReference(await recordedMetrics()),
  "docs/annotations.md": namesTable(documentedNames(ROOT)),
  "docs/rbac.md": rightsTable(ROOT),
  "docs/kafka.md": topicsTable(),
};
for (const [path, reference] of Object.entries(references)) {
  const text = readFileSync(join(ROOT, path), "utf8");
  const [before, after] = [text.split(BEGIN)[0]!, text.split(END)[1]];
  if (before === text || after === undefined) throw new Error(`${path} must have the marks of the reference`);
  const wanted = `${before}${BEGIN}\n${reference}\n${END}${after}`;
  if (!process.argv.includes("--check")) {
    writeFileSync(join(ROOT, path), wanted);
    console.log(`wrote the reference in ${path}`);
  } else if (text !== wanted) {
    console.error(`${path} must match the code and does not; run "npm run docs"`);
    process.exitCode = 1;
  }
}

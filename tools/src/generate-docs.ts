// Writes docs/configuration.md from the services' settings tables. With --check it only compares: exit code 1
// on differences.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describeSettings } from "@isochrone/runtime";
import { SECTIONS } from "./settings-sections.ts";

const HEAD = `# Configuration

<!-- Written by \`npm run docs\` from the settings tables in the code. Change those, not this file. -->

Every setting has a place in the file that \`ISOCHRONE_CONFIG\` names (\`<section>.<setting>\`; YAML or JSON) and
an environment variable. Services may share one file: each reads its own sections
([by-hand.md](by-hand.md)). The first of these that has a value wins: command line, environment, file,
default. An empty variable counts as not set. A service with mistakes or unknown settings reports all of
them and does not start. A setting of an earlier version that is gone is ignored with a warning.

- **Durations** are milliseconds, or a number with \`ms\`, \`s\`, \`m\`, \`h\` or \`d\`: \`500\`, \`2s\`, \`5m\`.
- **Sizes** are bytes, or a number with \`kB\`, \`MB\`, \`GB\`, \`KiB\`, \`MiB\`, \`GiB\`: \`10MiB\`.
- **Ratios** are 0 to 1, or a percentage: \`0.2\`, \`20%\`.
- **Lists** are lists in the file and separated by commas in the environment.
- **Flags** are \`true\` or \`false\`; \`yes\`, \`no\`, \`on\`, \`off\`, \`1\` and \`0\` do too.
- **Secret text** is shown in no log, error or page.

`;

const path = join(import.meta.dirname, "../../docs/configuration.md");
const wanted = HEAD + describeSettings(SECTIONS);

if (process.argv.includes("--check")) {
  if (readOrNull(path) !== wanted) {
    console.error('docs/configuration.md must match the settings tables and does not; run "npm run docs"');
    process.exitCode = 1;
  }
} else {
  writeFileSync(path, wanted);
  console.log("wrote docs/configuration.md");
}

function readOrNull(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return null;
  }
}

await import("./generate-chart-docs.ts");
await import("./generate-dashboards.ts");
await import("./generate-references.ts");

// `npm run check -- layout` prints the measures of the layout, with --list also the places. Exit code 1 if a
// measure exceeds its limit.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { LIMITS } from "./layout/limits.ts";
import { excesses, limited, measure, type Measures } from "./layout/measures.ts";
import type { Manifest } from "./layout/modules.ts";

const ROOT = join(import.meta.dirname, "../..");
const PLACES = 20;
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

const { workspaces } = JSON.parse(read("package.json")) as { readonly workspaces: readonly string[] };
const folders = workspaces.flatMap((pattern) =>
  pattern.endsWith("/*")
    ? readdirSync(join(ROOT, pattern.slice(0, -2))).map((name) => pattern.replace("*", name))
    : [pattern],
);
const manifests = new Map(
  folders.map((folder) => [folder, JSON.parse(read(`${folder}/package.json`)) as Manifest]),
);
const listed = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
  cwd: ROOT,
  encoding: "utf8",
});
const files = listed
  .split("\n")
  .filter((path) => /(\.(tsx?|mjs|md|sh|ya?ml|tpl)|Dockerfile|^\.ci\/run)$/.test(path))
  .filter((path) => !/(^|\/)data\//.test(path) && existsSync(join(ROOT, path)))
  .map((path) => ({ path, text: read(path) }));

const measures = measure(files, manifests);
const isQuiet = process.argv.includes("--check");
if (!isQuiet) print(measures);
const found = excesses(measures);
for (const { name, count, limit, places } of found) {
  console.error(`${name} must be at most ${limit}, got ${count}`);
  for (const place of places.slice(0, PLACES)) console.error(`  ${place}`);
  if (places.length > PLACES)
    console.error(`  and ${places.length - PLACES} more; all: npm run check -- layout --list`);
}
process.exitCode = found.length === 0 ? 0 : 1;

function print(measures: Measures): void {
  const { packages, exports } = measures;
  console.log(`${"package".padEnd(24)}  files     code  lines of tests`);
  const total = { folder: "total", files: 0, lines: 0, testLines: 0 };
  for (const size of packages) {
    total.files += size.files;
    total.lines += size.lines;
    total.testLines += size.testLines;
  }
  for (const { folder, files, lines, testLines } of [...packages, total])
    console.log(
      `${folder.padEnd(24)}${String(files).padStart(7)}${String(lines).padStart(9)}${String(testLines).padStart(16)}`,
    );
  console.log(`\n${"entry".padEnd(40)}  names  unused  tests only`);
  for (const { specifier, names, unused, testsOnly } of exports.entries)
    console.log(
      `${specifier.padEnd(40)}${String(names).padStart(7)}${String(unused.length).padStart(8)}${String(testsOnly.length).padStart(12)}`,
    );
  console.log(`\n${"measure".padEnd(28)}    now   limit`);
  const all = limited(measures);
  for (const [name, value] of Object.entries(all)) {
    const limit = LIMITS[name as keyof typeof LIMITS];
    const count = typeof value === "number" ? value : value.length;
    console.log(`${name.padEnd(28)}${String(count).padStart(7)}${String(limit).padStart(8)}`);
  }
  if (!process.argv.includes("--list")) return;
  for (const [name, places] of Object.entries(all))
    if (typeof places !== "number" && places.length > 0) console.log(`\n${name}\n  ${places.join("\n  ")}`);
}

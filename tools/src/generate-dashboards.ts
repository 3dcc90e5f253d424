// Writes helm/isochrone/dashboards. With --check it only compares: exit code 1 on differences.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { DASHBOARDS, toGrafana } from "./dashboards/index.ts";

const folder = join(import.meta.dirname, "../../helm/isochrone/dashboards");
mkdirSync(folder, { recursive: true });
const wanted = new Map(
  DASHBOARDS.map((dashboard) => [
    `${dashboard.uid}.json`,
    `${JSON.stringify(toGrafana(dashboard, DASHBOARDS), null, 2)}\n`,
  ]),
);
const present = readdirSync(folder);
const isWanted = (name: string): boolean => {
  const text = wanted.get(name);
  if (text === undefined || !present.includes(name)) return false;
  return isDeepStrictEqual(JSON.parse(readFileSync(join(folder, name), "utf8")), JSON.parse(text));
};
const differing = [...new Set([...present, ...wanted.keys()])].filter((name) => !isWanted(name));
if (!process.argv.includes("--check")) {
  for (const name of present) if (!wanted.has(name)) rmSync(join(folder, name));
  for (const [name, text] of wanted) if (differing.includes(name)) writeFileSync(join(folder, name), text);
  console.log(`wrote ${differing.length} of ${wanted.size} dashboards`);
} else if (differing.length > 0) {
  console.error(`${differing.join(", ")} must be what the code says; run "npm run docs"`);
  process.exitCode = 1;
}

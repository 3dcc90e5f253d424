// Table of annotations, labels and gates under our prefix, from documented constants in the code.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

interface DocumentedName {
  readonly name: string;
  readonly constant: string;
  readonly text: string;
}

const PREFIX = "isochrone.dev/";
const FOLDERS = [
  "aggregator/src",
  "scheduler-plugin/src",
  "packages/kubernetes/src",
  "packages/topology/src",
];
const CONSTANT =
  /\/\*\*((?:(?!\*\/)[^])*)\*\/\s*(?:export )?(?:const (\w+)(?::\s*\w+)? = |(\w+): )"([\w./-]+)"/g;
const BARE = /export const ANNOTATION_NAMES = \{([^}]*)\}/;

export function documentedNames(root: string): DocumentedName[] {
  const names = FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".ts") && !/\.test\.ts$|testing\//.test(path))
      .sort()
      .flatMap((path) => namesIn(readFileSync(join(root, folder, path), "utf8"), join(folder, path))),
  );
  return names.sort((a, b) => compare(a.name, b.name) || compare(a.constant, b.constant));
}

export function namesTable(names: readonly DocumentedName[]): string {
  const rows = names.map(({ name, text }) => `| \`${name}\` | ${text.replaceAll("|", String.raw`\|`)} |`);
  return ["| name | what |", "| --- | --- |", ...rows].join("\n");
}

function namesIn(code: string, path: string): DocumentedName[] {
  const found = documented(code).filter(({ name }) => name.startsWith(PREFIX) && name !== PREFIX);
  const constants = code.match(/(?:export const \w+ = |^ {2}\w+: )"isochrone\.dev\/[\w-]+"/gm) ?? [];
  if (constants.length > found.length)
    throw new Error(
      `${path} has ${constants.length} names with the prefix ${PREFIX}, and says of ${found.length} what they are`,
    );
  const bare = BARE.exec(code)?.[1] ?? "";
  return [...found, ...documented(bare).map((one) => ({ ...one, name: PREFIX + one.name }))];
}

function documented(code: string): DocumentedName[] {
  return [...code.matchAll(CONSTANT)].map(([, comment, constant, member, name]) => ({
    name: name!,
    constant: constant ?? member!,
    text: plain(comment!),
  }));
}

function plain(comment: string): string {
  return comment
    .replaceAll(/^\s*\* ?/gm, "")
    .replaceAll(/\{@link\s+(\w+)\}/g, "$1")
    .replaceAll(/\s+/g, " ")
    .trim();
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

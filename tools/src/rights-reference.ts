// Table of each component's rights, from the chart's files and their first comments. Parsed by line; a test
// on a real API server verifies the files.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const FOLDER = "helm/isochrone/files/rbac";
const FOR_READERS = "graph-roles";
const COMPONENTS = ["probe", "collector", "aggregator", "scheduler-plugin", "uninstall"];
const PLACEHOLDER = /__([A-Z_]+?)__/g;
const OWN_NAMESPACE = "__NAMESPACE__";

export function rightsTable(root: string): string {
  const names = readdirSync(join(root, FOLDER))
    .filter((file) => file.endsWith(".yaml"))
    .map((file) => file.slice(0, -".yaml".length))
    .filter((name) => name !== FOR_READERS)
    .sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  const rows = names.map((name) => rowOf(name, readFileSync(join(root, FOLDER, `${name}.yaml`), "utf8")));
  return ["| file | when, and for what | rights |", "| --- | --- | --- |", ...rows].join("\n");
}

function rowOf(name: string, text: string): string {
  const comment = /^(?:# .*\n)+/.exec(text)?.[0];
  if (comment === undefined)
    throw new Error(`${name}.yaml must begin with a comment that says what it is for`);
  const rights = text.split("\n---\n").flatMap((document) => rightsOf(name, document));
  const purpose = comment.replaceAll(/^# /gm, "").trim().replaceAll("\n", " ");
  return `| \`${name}\` | ${purpose} | ${rights.length === 0 ? "none" : rights.join("; ")} |`;
}

function rightsOf(name: string, document: string): string[] {
  const [, rules] = document.split("\nrules:\n");
  if (rules === undefined) return [];
  const [, namespace] = /^ {2}namespace: (.+)$/m.exec(document) ?? [];
  return rules
    .split(/^ {2}- /m)
    .slice(1)
    .map((rule) => {
      const verbs = listed(rule, "verbs");
      const what = [...listed(rule, "resources"), ...listed(rule, "nonResourceURLs")];
      if (verbs.length === 0 || what.length === 0)
        throw new Error(`${name}.yaml: a rule must have verbs and what they are for: ${rule}`);
      const named = listed(rule, "resourceNames");
      const which = named.length === 0 ? "" : ` ${quoted(named)}`;
      return `${quoted(what)}${which}: ${verbs.join(", ")}${whereOf(namespace)}`;
    });
}

function whereOf(namespace: string | undefined): string {
  if (namespace === undefined) return "";
  return namespace === OWN_NAMESPACE ? " (own namespace)" : ` (namespace ${quoted([namespace])})`;
}

function listed(rule: string, field: string): string[] {
  const found = new RegExp(`(?:^|\\n) *${field}:(?:\\s*\\[([^\\]]*)\\]|((?:\\n +- .+)+))`).exec(rule);
  if (found === null && rule.includes(`${field}:`)) throw new Error(`${field} of a rule is no list: ${rule}`);
  const [, items, lines] = found ?? [];
  return (items?.split(",") ?? lines?.split(/\n +- /) ?? [])
    .map((item) => item.trim().replaceAll('"', ""))
    .filter((item) => item !== "");
}

function quoted(names: readonly string[]): string {
  return names
    .map(
      (name) =>
        `\`${name.replaceAll("__NAME__", "isochrone").replaceAll(PLACEHOLDER, (_, key: string) => key)}\``,
    )
    .join(", ");
}

/** Longer names first, since one component's name may be another's prefix. */
function rank(name: string): number {
  return COMPONENTS.findIndex((component) => name === component || name.startsWith(`${component}-`));
}

// Converts modules to JavaScript, so that no process loads Node's type stripper (tens of megabytes). Types
// become blanks, which keeps lines and columns.
import { stripTypeScriptTypes } from "node:module";
import { MODULE_NAMES, URLS } from "./trace.ts";

const TYPESCRIPT = /\.ts$/;

export function scriptName(path: string): string {
  return path.replace(TYPESCRIPT, ".js");
}

export function scriptOf(text: string): string {
  const code = stripTypeScriptTypes(text);
  return [...MODULE_NAMES, URLS].reduce(
    (all, pattern) => all.replaceAll(pattern, (whole: string, name: string) => renamed(whole, name)),
    code,
  );
}

export function scriptManifest(text: string): string {
  const manifest = JSON.parse(text) as { exports?: Record<string, string> };
  const entries = Object.entries(manifest.exports ?? {}).map(([key, path]) => [key, scriptName(path)]);
  const exports = entries.length === 0 ? {} : { exports: Object.fromEntries(entries) as object };
  return `${JSON.stringify({ ...manifest, ...exports }, null, 2)}\n`;
}

function renamed(whole: string, name: string): string {
  if (!TYPESCRIPT.test(name)) return whole;
  const at = whole.lastIndexOf(name);
  return `${whole.slice(0, at)}${scriptName(name)}${whole.slice(at + name.length)}`;
}

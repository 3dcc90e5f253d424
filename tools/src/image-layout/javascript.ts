// Modules as they stand in an image: JavaScript, so that Node doesn't load its stripper of types, which takes
// tens of megabytes in every process. Types become blanks: lines and columns stay what they are in the
// sources.
import { stripTypeScriptTypes } from "node:module";
import { MODULE_NAMES, URLS } from "./trace.ts";

const TYPESCRIPT = /\.ts$/;

/** @param path of a module; @returns what it is called in the image */
export function scriptName(path: string): string {
  return path.replace(TYPESCRIPT, ".js");
}

/** @param text of a module in TypeScript whose types can be left out */
export function scriptOf(text: string): string {
  const code = stripTypeScriptTypes(text);
  return [...MODULE_NAMES, URLS].reduce(
    (all, pattern) => all.replaceAll(pattern, (whole: string, name: string) => renamed(whole, name)),
    code,
  );
}

/** The manifest of a package of ours, whose entries are modules. */
export function scriptManifest(text: string): string {
  const manifest = JSON.parse(text) as { exports?: Record<string, string> };
  const entries = Object.entries(manifest.exports ?? {}).map(([key, path]) => [key, scriptName(path)]);
  const exports = entries.length === 0 ? {} : { exports: Object.fromEntries(entries) as object };
  return `${JSON.stringify({ ...manifest, ...exports }, null, 2)}\n`;
}

/** Packages keep their names; paths of ours are what ends in .ts. */
function renamed(whole: string, name: string): string {
  if (!TYPESCRIPT.test(name)) return whole;
  const at = whole.lastIndexOf(name);
  return `${whole.slice(0, at)}${scriptName(name)}${whole.slice(at + name.length)}`;
}

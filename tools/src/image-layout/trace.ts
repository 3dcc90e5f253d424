// Finds the files a program may load, transitively. Type imports do not count.
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { dirname, join, resolve } from "node:path";

interface Traced {
  readonly files: ReadonlySet<string>;
  /** Package names with the first of our files that names each, from which it is resolved. */
  readonly packages: ReadonlyMap<string, string>;
  readonly workspaces: ReadonlySet<string>;
}

interface WorkspacePackage {
  readonly exports: Readonly<Record<string, string>>;
}

export const MODULE_NAMES: readonly RegExp[] = [
  /^\s*(?:import|export)\b[^"';]*?\bfrom\s*["']([^"'\n]+)["']/gm,
  /^\s*import\s*["']([^"'\n]+)["']/gm,
  /\bimport\s*\(\s*["']([^"'\n]+)["']/g,
  /\brequire\s*\(\s*["']([^"'\n]+)["']/g,
];
export const URLS: RegExp = /\bnew URL\(\s*["']([^"'\n]+)["']\s*,\s*import\.meta\.url/g;
const OWN = "@isochrone/";

/**
 * @param root of the repository
 * @param entry absolute path of the main module
 * @throws Error for a missing module of ours
 */
export function trace(root: string, entry: string): Traced {
  const files = new Set<string>();
  const packages = new Map<string, string>();
  const workspaces = new Set<string>([dirname(dirname(entry))]);
  const queue = [entry];
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (files.has(file)) continue;
    files.add(file);
    if (!/\.m?[jt]s$/.test(file)) continue;
    const text = readFileSync(file, "utf8");
    const code = file.endsWith(".ts") ? stripTypeScriptTypes(text) : text;
    for (const name of namesIn(code)) {
      if (name.startsWith("node:")) continue;
      if (name.startsWith(".")) queue.push(moduleAt(resolve(dirname(file), name), file));
      else if (name.startsWith(OWN)) {
        const { folder, path } = workspaceModule(root, name);
        workspaces.add(folder);
        queue.push(moduleAt(path, file));
      } else if (!packages.has(packageOf(name))) packages.set(packageOf(name), file);
    }
    queue.push(...urlsOf(code, file));
  }
  return { files, packages, workspaces };
}

function namesIn(code: string): string[] {
  return MODULE_NAMES.flatMap((pattern) => [...code.matchAll(pattern)].map(([, name]) => name!));
}

export function urlsIn(file: string): string[] {
  return file.endsWith(".ts") ? urlsOf(stripTypeScriptTypes(readFileSync(file, "utf8")), file) : [];
}

/** Threads, child processes and data files. Nonexistent ones are network addresses. */
function urlsOf(code: string, file: string): string[] {
  return [...code.matchAll(URLS)]
    .map(([, path]) => resolve(dirname(file), path!))
    .filter((path) => /\.\w+$/.test(path) && existsSync(path));
}

function moduleAt(path: string, importer: string): string {
  if (existsSync(path)) return path;
  throw new Error(`${importer} names ${path}, which isn't there`);
}

function workspaceModule(root: string, name: string): { readonly folder: string; readonly path: string } {
  const [scope, short, ...rest] = name.split("/");
  const folder = realpathSync(join(root, "node_modules", scope!, short!));
  const { exports } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as WorkspacePackage;
  const key = rest.length === 0 ? "." : `./${rest.join("/")}`;
  const path = exports[key];
  if (path === undefined) throw new Error(`${name} is no entry of ${folder}`);
  return { folder, path: join(folder, path) };
}

function packageOf(name: string): string {
  const parts = name.split("/");
  return parts.slice(0, name.startsWith("@") ? 2 : 1).join("/");
}

// Copies files into a reproducible folder.
import {
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { scriptManifest, scriptName, scriptOf } from "./javascript.ts";

/** Files in packages that no program loads. Licences stay. */
const USELESS = /(\.(map|d\.[cm]?ts|md|markdown|flow|tsbuildinfo)|\.(c|cc|cpp|h|hh|proto\.txt))$/i;
const LICENCE = /licen[cs]e|notice/i;
const NODE_GYP_MARK = "config.gypi";
const USELESS_FOLDERS = new Set([
  ".github",
  ".vscode",
  "benchmarks",
  "doc",
  "docs",
  "example",
  "examples",
  "vendor",
  "__tests__",
]);

export class Layout {
  readonly #root: string;
  readonly #target: string;

  constructor(root: string, target: string) {
    this.#root = root;
    this.#target = target;
  }

  copy(path: string): void {
    const to = join(this.#target, relative(this.#root, path));
    mkdirSync(dirname(to), { recursive: true });
    copyFileSync(path, to);
  }

  copyModule(path: string): void {
    if (!path.endsWith(".ts")) return this.copy(path);
    this.#put(scriptName(relative(this.#root, path)), scriptOf(readFileSync(path, "utf8")));
  }

  copyManifest(path: string): void {
    this.#put(relative(this.#root, path), scriptManifest(readFileSync(path, "utf8")));
  }

  copyFolder(folder: string): void {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) this.copyFolder(path);
      else if (entry.isFile() && !/\.test\.\w+$/.test(entry.name)) this.copy(path);
    }
  }

  /**
   * Copies an installed package without nested packages.
   * @param isTop the package's root: deeper down, a folder named doc may be code
   */
  copyPackage(folder: string, isTop = true): void {
    if (existsSync(join(folder, NODE_GYP_MARK))) return this.#copyAddons(join(folder, "Release"));
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) {
        const isLeftOut = entry.name === "node_modules" || (isTop && USELESS_FOLDERS.has(entry.name));
        if (!isLeftOut) this.copyPackage(path, false);
      } else if (entry.isFile() && (!USELESS.test(entry.name) || LICENCE.test(entry.name))) this.copy(path);
    }
  }

  copyLicences(folder: string, to: string): void {
    for (const name of readdirSync(folder))
      if (LICENCE.test(name) && lstatSync(join(folder, name)).isFile())
        this.#put(join(to, name), readFileSync(join(folder, name), "utf8"));
  }

  /** Copies only node-gyp's addons: other output serves the compiler and contains machine paths. */
  #copyAddons(folder: string): void {
    for (const name of readdirSync(folder)) if (name.endsWith(".node")) this.copy(join(folder, name));
  }

  link(name: string, folder: string): void {
    const at = join(this.#target, "node_modules", name);
    mkdirSync(dirname(at), { recursive: true });
    symlinkSync(relative(dirname(at), join(this.#target, relative(this.#root, folder))), at);
  }

  write(path: string, text: string): void {
    this.#put(path, text);
  }

  /** Makes everything world-readable, read-only and of one time. */
  finish(atMs: number): void {
    finish(this.#target, atMs / 1000);
  }

  #put(path: string, text: string): void {
    const to = join(this.#target, path);
    mkdirSync(dirname(to), { recursive: true });
    writeFileSync(to, text);
  }
}

function finish(path: string, atSeconds: number): void {
  const stat = lstatSync(path);
  if (stat.isDirectory()) for (const name of readdirSync(path)) finish(join(path, name), atSeconds);
  if (!stat.isSymbolicLink())
    chmodSync(path, stat.isDirectory() || (stat.mode & 0o100) !== 0 ? 0o755 : 0o644);
  lutimesSync(path, atSeconds, atSeconds);
}

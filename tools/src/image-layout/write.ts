// Copies what was found into a folder that looks the same whoever makes it.
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

/** In packages, nothing that a program loads. Licences stay. */
const USELESS = /(\.(map|d\.[cm]?ts|md|markdown|flow|tsbuildinfo)|\.(c|cc|cpp|h|hh|proto\.txt))$/i;
const LICENCE = /licen[cs]e|notice/i;
/** A file that node-gyp leaves in the folder that it builds in. */
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

  /** @param root of the repository @param target an empty folder */
  constructor(root: string, target: string) {
    this.#root = root;
    this.#target = target;
  }

  /** To the same place below the target. */
  copy(path: string): void {
    const to = join(this.#target, relative(this.#root, path));
    mkdirSync(dirname(to), { recursive: true });
    copyFileSync(path, to);
  }

  /** A module of ours to the same place, as JavaScript. */
  copyModule(path: string): void {
    if (!path.endsWith(".ts")) return this.copy(path);
    this.#put(scriptName(relative(this.#root, path)), scriptOf(readFileSync(path, "utf8")));
  }

  /** The manifest of a package of ours, for modules that are JavaScript. */
  copyManifest(path: string): void {
    this.#put(relative(this.#root, path), scriptManifest(readFileSync(path, "utf8")));
  }

  /** A whole folder, without tests. */
  copyFolder(folder: string): void {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) this.copyFolder(path);
      else if (entry.isFile() && !/\.test\.\w+$/.test(entry.name)) this.copy(path);
    }
  }

  /**
   * An installed package, without what is installed in it: those are packages of their own.
   * @param isTop whether it is the package itself: further below, a folder called doc is code as likely as
   * not
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

  /** The licences of a package that is part of a bundle. @param to the folder for them, below the target */
  copyLicences(folder: string, to: string): void {
    for (const name of readdirSync(folder))
      if (LICENCE.test(name) && lstatSync(join(folder, name)).isFile())
        this.#put(join(to, name), readFileSync(join(folder, name), "utf8"));
  }

  /** Of what node-gyp built. All else is for the compiler, and names places of the machine that it ran on. */
  #copyAddons(folder: string): void {
    for (const name of readdirSync(folder)) if (name.endsWith(".node")) this.copy(join(folder, name));
  }

  /** As npm links workspace packages. */
  link(name: string, folder: string): void {
    const at = join(this.#target, "node_modules", name);
    mkdirSync(dirname(at), { recursive: true });
    symlinkSync(relative(dirname(at), join(this.#target, relative(this.#root, folder))), at);
  }

  write(path: string, text: string): void {
    this.#put(path, text);
  }

  /** Everyone may read everything, nobody may write, and all is of one time. */
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
  // Programs among them keep that they are some.
  if (!stat.isSymbolicLink())
    chmodSync(path, stat.isDirectory() || (stat.mode & 0o100) !== 0 ? 0o755 : 0o644);
  lutimesSync(path, atSeconds, atSeconds);
}

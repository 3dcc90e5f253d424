import { readSource, type SourceText } from "./source-text.ts";

interface Module {
  readonly path: string;
  readonly text: string;
  readonly source: SourceText;
  readonly uses: readonly Use[];
  /** Declared and re-exported names, except the default export. */
  readonly exports: readonly string[];
  readonly isBarrel: boolean;
}

interface Use {
  readonly specifier: string;
  /**
   * Named as exported. A namespace import uses "all"; a dynamic import or address uses names mentioned in the
   * user's text.
   */
  readonly names: readonly string[] | "all" | "mentioned";
}

const STATEMENT =
  /^(import|export)\s+(?:type\s+)?((?:[\w$]+\s*,\s*)?\{[^}]*\}|\*\s+as\s+[\w$]+|[\w$]+)\s+from\s*["'](\s*)["']/gm;
const LOCAL_EXPORTS = /^export\s+(?:type\s+)?\{([^}]*)\}\s*;?(?!\s*from\b)/gm;
const DECLARATION =
  /^export\s+(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?(?:function\s*\*?|class|interface|type|const|let)\s+([\w$]+)/gm;
const DYNAMIC = /\bimport\(\s*["'](\s*)["']\s*,?\s*\)/g;
/** Workers and child programs are loaded by address. */
const BY_ADDRESS = /\bnew URL\(\s*["'](\s*)["']\s*,\s*import\.meta\.url\s*\)/g;

export function readModule(path: string, text: string): Module {
  const source = readSource(text);
  const { code } = source;
  const uses: Use[] = [];
  const exports = new Set<string>();
  for (const match of code.matchAll(STATEMENT)) {
    const names = namesOf(match[2]!);
    uses.push({ specifier: specifierOf(text, match), names: names.map(({ name }) => name) });
    if (match[2]!.startsWith("*")) uses[uses.length - 1] = { ...uses.at(-1)!, names: "all" };
    if (match[1] === "export") for (const { alias } of names) exports.add(alias);
  }
  for (const pattern of [DYNAMIC, BY_ADDRESS])
    for (const match of code.matchAll(pattern)) {
      const before = text.slice(match.index, match.index + match[0].length);
      uses.push({ specifier: /["']([^"']*)["']/.exec(before)![1]!, names: "mentioned" });
    }
  for (const match of code.matchAll(LOCAL_EXPORTS))
    for (const { alias } of namesOf(`{${match[1]!}}`)) exports.add(alias);
  for (const match of code.matchAll(DECLARATION)) exports.add(match[1]!);
  return { path, text, source, uses, exports: [...exports], isBarrel: isBarrel(code) };
}

function isBarrel(code: string): boolean {
  return code.replaceAll(STATEMENT, "").replaceAll(";", "").trim() === "";
}

function specifierOf(text: string, match: RegExpExecArray): string {
  const end = match.index + match[0].length - 1;
  return text.slice(end - match[3]!.length, end);
}

function namesOf(clause: string): { name: string; alias: string }[] {
  const inner = /\{([^}]*)\}/.exec(clause)?.[1] ?? "";
  return inner
    .split(",")
    .map((part) => part.trim().replace(/^type\s+/, ""))
    .filter((part) => part !== "")
    .map((part) => {
      const [name, alias] = part.split(/\s+as\s+/);
      return { name: name!, alias: alias ?? name! };
    });
}

export interface Manifest {
  readonly name: string;
  readonly exports?: Readonly<Record<string, string>>;
}

interface Edge {
  readonly from: string;
  readonly to: string;
  readonly names: Use["names"];
}

export class ModuleGraph {
  readonly modules: ReadonlyMap<string, Module>;
  readonly edges: readonly Edge[];
  readonly entries: ReadonlyMap<string, string>;
  readonly #folders: readonly string[];

  constructor(modules: readonly Module[], manifests: ReadonlyMap<string, Manifest>) {
    this.modules = new Map(modules.map((module) => [module.path, module]));
    this.#folders = [...manifests.keys()];
    const targets = new Map<string, string>();
    for (const [folder, { name, exports = {} }] of manifests)
      for (const [entry, file] of Object.entries(exports)) targets.set(join(name, entry), join(folder, file));
    this.entries = new Map([...targets].map(([specifier, path]) => [path, specifier]));
    this.edges = modules.flatMap((module) =>
      module.uses.flatMap(({ specifier, names }) => {
        const to = specifier.startsWith(".") ? join(module.path, "..", specifier) : targets.get(specifier);
        return to === undefined || !this.modules.has(to) ? [] : [{ from: module.path, to, names }];
      }),
    );
  }

  folderOf(path: string): string {
    return this.#folders.find((folder) => path.startsWith(`${folder}/`)) ?? "";
  }

  users(): Map<string, Map<string, string[]>> {
    const users = new Map(
      [...this.modules.values()].map(({ path, exports }) => [
        path,
        new Map(exports.map((name): [string, string[]] => [name, []])),
      ]),
    );
    for (const { from, to, names } of this.edges) {
      if (from === to) continue;
      const ofTarget = users.get(to)!;
      for (const name of this.#namesOf(from, names, [...ofTarget.keys()])) ofTarget.get(name)?.push(from);
    }
    return users;
  }

  #namesOf(user: string, names: Use["names"], exported: readonly string[]): readonly string[] {
    if (names === "all") return exported;
    if (names !== "mentioned") return names;
    // Includes strings, since workers are sometimes texts.
    const words = new Set(this.modules.get(user)!.text.match(/[\w$]+/g));
    return exported.filter((name) => words.has(name));
  }
}

function join(...paths: readonly string[]): string {
  const parts: string[] = [];
  for (const part of paths.join("/").split("/"))
    if (part === "..") parts.pop();
    else if (part !== ".") parts.push(part);
  return parts.join("/");
}

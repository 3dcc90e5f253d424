import type { ModuleGraph } from "./modules.ts";

export interface ExportReport {
  readonly entries: readonly EntryReport[];
  /** Names not used by other files, in non-entry files: `path: name`. */
  readonly ownFileOnly: readonly string[];
}

interface EntryReport {
  readonly specifier: string;
  readonly path: string;
  readonly names: number;
  readonly unused: readonly string[];
  /** Used outside the package by tests only; these belong to its testing entry. */
  readonly testsOnly: readonly string[];
}

export function isTest(path: string): boolean {
  return /\.test\.tsx?$/.test(path) || path.startsWith("test/") || path.includes("/testing/");
}

const LOADED_BY_NAME = /\.bench\.ts$/;

export function reportExports(graph: ModuleGraph): ExportReport {
  const entries: EntryReport[] = [];
  const ownFileOnly: string[] = [];
  for (const [path, users] of graph.users()) {
    const specifier = graph.entries.get(path);
    if (specifier !== undefined) entries.push(reportEntry(graph, path, specifier, users));
    else if (!LOADED_BY_NAME.test(path))
      for (const [name, files] of users) if (files.length === 0) ownFileOnly.push(`${path}: ${name}`);
  }
  entries.sort((a, b) => (a.specifier < b.specifier ? -1 : 1));
  return { entries, ownFileOnly };
}

function reportEntry(
  graph: ModuleGraph,
  path: string,
  specifier: string,
  users: ReadonlyMap<string, readonly string[]>,
): EntryReport {
  const { isBarrel } = graph.modules.get(path)!;
  const folder = graph.folderOf(path);
  const unused: string[] = [];
  const testsOnly: string[] = [];
  for (const [name, files] of users) {
    // A real module, unlike a barrel, also serves its own package.
    const counted = isBarrel
      ? files.filter((file) => graph.folderOf(file) !== folder || !isTest(file))
      : files;
    if (counted.length === 0) unused.push(name);
    else if (
      !isTest(path) &&
      counted.every(isTest) &&
      counted.some((file) => graph.folderOf(file) !== folder)
    )
      testsOnly.push(name);
  }
  return { specifier, path, names: users.size, unused, testsOnly };
}

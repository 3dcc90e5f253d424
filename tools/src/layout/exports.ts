// Exported names that nobody uses, or that only tests use.
import type { ModuleGraph } from "./modules.ts";

export interface ExportReport {
  /** Every entry file with the names that it exports. */
  readonly entries: readonly EntryReport[];
  /** Names that no other file uses, in files that are no entry: `path: name`. */
  readonly ownFileOnly: readonly string[];
}

interface EntryReport {
  readonly specifier: string;
  readonly path: string;
  readonly names: number;
  readonly unused: readonly string[];
  /** Used outside of the package by tests only; such names belong to the package's testing entry. */
  readonly testsOnly: readonly string[];
}

/** Whether a file is a test or helps tests. */
export function isTest(path: string): boolean {
  return /\.test\.tsx?$/.test(path) || path.startsWith("test/") || path.includes("/testing/");
}

/** Programs that are loaded by name, whose exports no import shows. */
const LOADED_BY_NAME = /\.bench\.ts$/;

/** Sorts each exported name by who uses it. */
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
    // A file of its own, unlike a list of names, also serves its own package.
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

import { entriesOf } from "@isochrone/primitives";
import { countCommentLines, vagueComments } from "./comments.ts";
import { fileCycles, mutualFolders } from "./cycles.ts";
import { type ExportReport, isTest, reportExports } from "./exports.ts";
import { LIMITS, type Limited } from "./limits.ts";
import { countCasts, countStringIndexReads } from "./loose-types.ts";
import { type Manifest, ModuleGraph, readModule } from "./modules.ts";
import { secondDefinitions } from "./second-definitions.ts";
import { wideCommentLines, wideHashLines, wideMarkdownLines } from "./wide-lines.ts";

interface File {
  readonly path: string;
  readonly text: string;
}

export interface Measures {
  readonly packages: readonly PackageSize[];
  readonly exports: ExportReport;
  readonly folders: readonly string[];
  readonly mutualFolders: readonly string[];
  readonly fileCycles: readonly string[];
  readonly secondDefinitions: readonly string[];
  readonly wideCommentLines: readonly string[];
  readonly wideMarkdownLines: readonly string[];
  readonly vagueComments: readonly string[];
  readonly commentLines: number;
  readonly sharedTypeNames: readonly string[];
  readonly stringIndexReads: number;
  readonly casts: number;
  readonly settings: number;
  readonly metrics: number;
}

interface PackageSize {
  readonly folder: string;
  readonly files: number;
  /** Product lines without comments and blanks. */
  readonly lines: number;
  readonly testLines: number;
}

const MAX_FILES_PER_FOLDER = 25;
const TYPE_DECLARATION = /^(?:export )?(?:declare )?(?:abstract )?(?:interface|type|class) (\w+)/gm;
const SCRIPT = /\.(tsx?|mjs)$/;
const WITH_HASH_COMMENTS = /(\.(sh|ya?ml|tpl)|Dockerfile|^\.ci\/run)$/;

export function measure(files: readonly File[], manifests: ReadonlyMap<string, Manifest>): Measures {
  const scripts = files.filter(({ path }) => SCRIPT.test(path));
  const graph = new ModuleGraph(
    scripts.map(({ path, text }) => readModule(path, text)),
    manifests,
  );
  const product = scripts.filter(({ path }) => !isTest(path));
  const productEdges = graph.edges.filter(({ from, to }) => !isTest(from) && !isTest(to));
  const sourceOf = (path: string): string => graph.modules.get(path)!.source.code;
  const sum = (count: (code: string) => number): number =>
    product.reduce((total, { path }) => total + count(sourceOf(path)), 0);
  const textOf = (path: string): string => files.find((file) => file.path === path)?.text ?? "";
  return {
    packages: [...manifests.keys()].map((folder) => sizeOf(folder, scripts, sourceOf)),
    exports: reportExports(graph),
    folders: fullFolders(product.map(({ path }) => path)),
    mutualFolders: mutualFolders(productEdges),
    fileCycles: fileCycles(graph.edges).map((group) => group.join(", ")),
    secondDefinitions: scripts
      .filter(({ path }) => !path.includes(".test."))
      .flatMap(({ path }) => secondDefinitions(path, sourceOf(path))),
    wideCommentLines: files.flatMap(({ path, text }) =>
      SCRIPT.test(path)
        ? at(path, wideCommentLines(text, graph.modules.get(path)!.source))
        : WITH_HASH_COMMENTS.test(path)
          ? at(path, wideHashLines(text))
          : [],
    ),
    wideMarkdownLines: files.flatMap(({ path, text }) =>
      path.endsWith(".md") ? at(path, wideMarkdownLines(text)) : [],
    ),
    vagueComments: scripts.flatMap(({ path, text }) =>
      at(path, vagueComments(text, graph.modules.get(path)!.source)),
    ),
    commentLines: scripts.reduce(
      (total, { path, text }) => total + countCommentLines(text, graph.modules.get(path)!.source),
      0,
    ),
    sharedTypeNames: sharedTypeNames(product.map(({ path }) => sourceOf(path))),
    stringIndexReads: sum(countStringIndexReads),
    casts: sum(countCasts),
    settings: countSettings(textOf("docs/configuration.md")),
    metrics: countMetrics(textOf("docs/metrics.md")),
  };
}

function at(path: string, lines: readonly number[]): string[] {
  return lines.map((line) => `${path}:${line}`);
}

function sizeOf(folder: string, scripts: readonly File[], codeOf: (path: string) => string): PackageSize {
  const size = { folder, files: 0, lines: 0, testLines: 0 };
  for (const { path, text } of scripts) {
    if (!path.startsWith(`${folder}/`)) continue;
    if (isTest(path)) size.testLines += text.split("\n").length - 1;
    else {
      size.lines += codeOf(path).match(/^.*\S/gm)?.length ?? 0;
      size.files++;
    }
  }
  return size;
}

function fullFolders(paths: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const path of paths) {
    const folder = path.slice(0, path.lastIndexOf("/"));
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts]
    .filter(([, count]) => count > MAX_FILES_PER_FOLDER)
    .map(([folder, count]) => `${folder}: ${count} files`);
}

/** Names of types and classes that several files declare. */
function sharedTypeNames(codes: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const code of codes)
    for (const name of new Set(Array.from(code.matchAll(TYPE_DECLARATION), ([, name]) => name!)))
      counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].filter(([, count]) => count > 1).map(([name, count]) => `${name}: ${count} files`);
}

function countSettings(page: string): number {
  return page.match(/^\| *`[a-zA-Z]+\.[a-zA-Z.]+`/gm)?.length ?? 0;
}

function countMetrics(page: string): number {
  const [, reference = ""] = page.split("<!-- reference:");
  return reference.match(/^\| *`/gm)?.length ?? 0;
}

export function limited(measures: Measures): Record<Limited, readonly string[] | number> {
  const { entries, ownFileOnly } = measures.exports;
  return {
    unusedExports: entries.flatMap(({ specifier, unused }) => unused.map((name) => `${specifier}: ${name}`)),
    exportsForTestsOnly: entries.flatMap(({ specifier, testsOnly }) =>
      testsOnly.map((name) => `${specifier}: ${name}`),
    ),
    exportsForOwnFileOnly: ownFileOnly,
    foldersOver25Files: measures.folders,
    fileCycles: measures.fileCycles,
    secondDefinitions: measures.secondDefinitions,
    wideCommentLines: measures.wideCommentLines,
    wideMarkdownLines: measures.wideMarkdownLines,
    stringIndexReads: measures.stringIndexReads,
    casts: measures.casts,
    settings: measures.settings,
    metrics: measures.metrics,
    mutualFolders: measures.mutualFolders,
    sharedTypeNames: measures.sharedTypeNames,
    vagueComments: measures.vagueComments,
    commentLines: measures.commentLines,
    productLines: measures.packages.reduce((total, { lines }) => total + lines, 0),
    testLines: measures.packages.reduce((total, { testLines }) => total + testLines, 0),
  };
}

interface Excess {
  readonly name: Limited;
  readonly count: number;
  readonly limit: number;
  readonly places: readonly string[];
}

export function excesses(measures: Measures, limits: Readonly<Record<Limited, number>> = LIMITS): Excess[] {
  return entriesOf(limited(measures)).flatMap(([name, value]) => {
    const count = typeof value === "number" ? value : value.length;
    if (count <= limits[name]) return [];
    return [{ name, count, limit: limits[name], places: typeof value === "number" ? [] : value }];
  });
}

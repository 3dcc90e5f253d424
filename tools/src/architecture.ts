// The allowed dependency directions and their check. Pure.

/**
 * Allowed imports among workspace packages. Services interact by the bus, the graph API and Kubernetes; only
 * cli composes them.
 */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  "packages/primitives": [],
  "packages/telemetry": ["primitives"],
  "packages/topology": ["primitives", "telemetry"],
  "packages/prices": ["primitives", "topology"],
  "packages/placement": ["primitives", "telemetry", "topology", "prices"],
  "packages/streams": ["primitives"],
  "packages/learning": ["primitives"],
  "packages/dispatch": ["primitives", "learning"],
  "packages/runtime": ["primitives"],
  "packages/bus": ["primitives", "telemetry", "runtime"],
  "packages/kubernetes": ["primitives", "runtime"],
  "packages/kernel-sockets": ["primitives"],
  "packages/tosca": ["primitives", "topology", "placement", "runtime", "kubernetes"],
  "packages/lab": ["primitives", "telemetry", "placement", "runtime", "kubernetes", "kernel-sockets"],
  probe: ["primitives", "telemetry", "runtime", "bus", "kernel-sockets"],
  collector: ["primitives", "telemetry", "runtime", "bus", "kubernetes", "kernel-sockets"],
  "network-manager": ["primitives", "telemetry", "topology", "runtime", "bus"],
  dispatcher: ["primitives", "topology", "dispatch", "runtime", "kubernetes"],
  aggregator: ["primitives", "telemetry", "topology", "prices", "runtime", "bus", "kubernetes", "dashboard"],
  "scheduler-plugin": [
    "primitives",
    "telemetry",
    "topology",
    "prices",
    "placement",
    "streams",
    "dispatch",
    "runtime",
    "kubernetes",
  ],
  dashboard: ["primitives", "topology"],
  cli: [
    "primitives",
    "telemetry",
    "topology",
    "prices",
    "placement",
    "streams",
    "dispatch",
    "runtime",
    "bus",
    "kubernetes",
    "lab",
    "tosca",
    "probe",
    "collector",
    "network-manager",
    "dispatcher",
    "aggregator",
    "scheduler-plugin",
    "dashboard",
    "experiments",
  ],
  experiments: [
    "primitives",
    "telemetry",
    "topology",
    "prices",
    "placement",
    "streams",
    "learning",
    "dispatch",
    "runtime",
    "kubernetes",
    "lab",
  ],
  tools: [
    "primitives",
    "runtime",
    "bus",
    "kubernetes",
    "probe",
    "collector",
    "network-manager",
    "dispatcher",
    "aggregator",
    "scheduler-plugin",
  ],
};

/** Entries without I/O, clock, environment or randomness, with their allowed third-party imports. */
const PURE: Readonly<Record<string, readonly string[]>> = {
  "packages/primitives": [],
  "packages/telemetry": [],
  "packages/topology": ["typebox"],
  "packages/placement": [],
  "packages/prices": [],
  "packages/streams": [],
  "packages/learning": [],
  "packages/dispatch": [],
};

/** Built-ins without I/O: hashes and address syntax, without randomness. */
const PURE_BUILTINS: Readonly<Record<string, readonly string[]>> = {
  "node:crypto": ["hash", "createHash", "createHmac", "createSecretKey", "timingSafeEqual"],
  "node:net": ["isIP", "isIPv4", "isIPv6"],
};

const IMPURE_ENTRIES = ["packages/topology/src/client.ts"];

/** Package entries that a service's domain/ may import. */
const PURE_ENTRIES = [
  "@isochrone/primitives",
  "@isochrone/primitives/algorithms",
  "@isochrone/primitives/workload-name",
  "@isochrone/telemetry",
  "@isochrone/telemetry/outside",
  "@isochrone/topology",
  "@isochrone/topology/findings",
  "@isochrone/topology/link-errors",
  "@isochrone/placement",
  "@isochrone/prices",
  "@isochrone/streams",
  "@isochrone/dispatch/replicas",
  "@isochrone/dispatch/endpoints",
  "@isochrone/dispatch/weights",
  "@isochrone/dispatch/zones",
];

const MAX_LINES = 400;
const LENGTH_REASON = /longer than 400 lines because/i;

export interface Manifest {
  readonly name: string;
  readonly exports?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

interface Violation {
  readonly path: string;
  readonly line: number;
  readonly rule: string;
  readonly message: string;
}

interface Import {
  readonly specifier: string;
  readonly line: number;
  readonly typeOnly: boolean;
  readonly names: readonly string[];
}

export function checkArchitecture(
  files: readonly SourceFile[],
  manifests: ReadonlyMap<string, Manifest>,
): Violation[] {
  const folderOf = new Map([...manifests].map(([folder, manifest]) => [manifest.name, folder]));
  const violations: Violation[] = [];
  for (const file of files) {
    const folder = [...manifests.keys()].find((candidate) => file.path.startsWith(`${candidate}/`));
    if (folder === undefined) continue;
    const context = { file, folder, manifest: manifests.get(folder)!, manifests, folderOf, violations };
    checkLength(context);
    checkPurity(context);
    for (const line of exportAllLines(file.text))
      report(context, line, "surface", "export * hides what is public; name the exports");
    for (const found of importsOf(file.text)) checkImport(context, found);
  }
  return violations;
}

interface Context {
  readonly file: SourceFile;
  readonly folder: string;
  readonly manifest: Manifest;
  readonly manifests: ReadonlyMap<string, Manifest>;
  readonly folderOf: ReadonlyMap<string, string>;
  readonly violations: Violation[];
}

function report(context: Context, line: number, rule: string, message: string): void {
  context.violations.push({ path: context.file.path, line, rule, message });
}

function checkLength(context: Context): void {
  const lines = context.file.text.split("\n");
  if (lines.length <= MAX_LINES || LENGTH_REASON.test(lines.slice(0, 5).join("\n"))) return;
  report(
    context,
    MAX_LINES + 1,
    "length",
    `${lines.length} lines; at most ${MAX_LINES} unless its top says "longer than ${MAX_LINES} lines because ..."`,
  );
}

const IMPURE_WORDS =
  /\b(Date\.now|new Date\(\)|performance\.now|Math\.random|process\.(env|hrtime|on)|setTimeout|setInterval)\b/;

function checkPurity(context: Context): void {
  if (!isPure(context)) return;
  for (const [index, line] of context.file.text.split("\n").entries()) {
    const code = line.replace(/\/\/.*|^\s*\*.*/, "");
    const word = IMPURE_WORDS.exec(code)?.[1];
    if (word !== undefined)
      report(context, index + 1, "purity", `${word} in pure code; take a Clock or Random instead`);
  }
}

function isPure({ file, folder }: Context): boolean {
  if (isTest(file.path) || IMPURE_ENTRIES.includes(file.path)) return false;
  return folder in PURE || isInDomain(file.path, folder);
}

function isDomain({ file, folder }: Context): boolean {
  return isInDomain(file.path, folder) && !isTest(file.path);
}

/** Under src/domain/, or under a feature's domain/ at any depth. */
function isInDomain(path: string, folder: string): boolean {
  return path.startsWith(`${folder}/src/`) && path.slice(folder.length).includes("/domain/");
}

function isTest(path: string): boolean {
  return path.endsWith(".test.ts") || path.startsWith("test/") || path.includes("/testing/");
}

function checkImport(context: Context, found: Import): void {
  const { specifier, line } = found;
  if (specifier.startsWith(".")) checkRelative(context, found);
  else if (specifier.startsWith("@isochrone/")) checkWorkspace(context, found);
  else if (specifier.startsWith("node:")) {
    if (isPure(context) && !isPureBuiltin(found))
      report(context, line, "purity", `${specifier} in pure code`);
  } else checkThirdParty(context, found);
}

function isPureBuiltin({ specifier, names }: Import): boolean {
  const allowed = PURE_BUILTINS[specifier];
  return allowed !== undefined && names.length > 0 && names.every((name) => allowed.includes(name));
}

function reportTesting(context: Context, line: number, specifier: string): void {
  report(context, line, "testing", `${specifier} helps tests; only tests may import it`);
}

function checkRelative(context: Context, { specifier, line }: Import): void {
  const { file, folder } = context;
  const target = resolvePath(file.path, specifier);
  if (isTest(target) && !isTest(file.path)) reportTesting(context, line, specifier);
  if (!target.startsWith(`${folder}/`))
    report(context, line, "boundary", `${specifier} leaves ${folder}; import the package by its name`);
  if (!isDomain(context) || isInDomain(target, folder)) return;
  const allowed = [`${folder}/src/ports/ports.ts`, `${folder}/src/ports/errors.ts`];
  if (!allowed.includes(target))
    report(
      context,
      line,
      "domain",
      `domain imports ${specifier}; it may import domain files, ports.ts, errors.ts and pure packages`,
    );
}

function checkWorkspace(context: Context, { specifier, line, typeOnly }: Import): void {
  const { file, folder, manifest, folderOf } = context;
  const [scope, short] = specifier.split("/");
  const name = `${scope}/${short}`;
  const targetFolder = folderOf.get(name);
  if (targetFolder === undefined) return report(context, line, "boundary", `there is no package ${name}`);
  checkEntry(context, specifier, name, targetFolder, line);
  const allowed = ALLOWED[folder] ?? [];
  if (folder !== "test" && !isTest(file.path) && !allowed.includes(short!))
    report(
      context,
      line,
      "direction",
      `${folder} may not import ${name} (allowed: ${allowed.join(", ") || "nothing"})`,
    );
  if (!isDeclared(manifest, name, isTest(file.path)))
    report(context, line, "declared", `${name} is not in the dependencies of ${manifest.name}`);
  if (isDomain(context) && !typeOnly && !PURE_ENTRIES.includes(specifier))
    report(context, line, "domain", `domain imports ${specifier}; only ${PURE_ENTRIES.join(", ")} are pure`);
}

function checkEntry(
  context: Context,
  specifier: string,
  name: string,
  targetFolder: string,
  line: number,
): void {
  const rest = specifier.slice(name.length + 1);
  const target = context.manifests.get(targetFolder)!.exports?.[rest === "" ? "." : `./${rest}`];
  if (target === undefined)
    report(context, line, "boundary", `${specifier} is not a public entry of ${name}`);
  else if (isTest(target) && !isTest(context.file.path)) reportTesting(context, line, specifier);
}

function checkThirdParty(context: Context, { specifier, line, typeOnly }: Import): void {
  const { file, folder, manifest } = context;
  const name = specifier.startsWith("@")
    ? specifier.split("/").slice(0, 2).join("/")
    : specifier.split("/")[0]!;
  const rootTools = isTest(file.path) && ["vitest"].includes(name);
  if (!rootTools && !isDeclared(manifest, name, isTest(file.path)))
    report(context, line, "declared", `${name} is not in the dependencies of ${manifest.name}`);
  if (isPure(context) && !typeOnly && !(PURE[folder] ?? []).includes(name))
    report(context, line, "purity", `${name} in pure code`);
}

function isDeclared(manifest: Manifest, name: string, development: boolean): boolean {
  if (manifest.name === name || manifest.dependencies?.[name] !== undefined) return true;
  return development && manifest.devDependencies?.[name] !== undefined;
}

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\s+(type\s+)?(?:([\w*{}\s,$]+?)\s+from\s+)?["']([^"'\n]+)["']|import\(\s*["']([^"'\n]+)["']\s*\)/g;
const EXPORT_ALL = /(?:^|\n)\s*export\s+\*/;

function importsOf(text: string): Import[] {
  const found: Import[] = [];
  for (const match of text.matchAll(IMPORT)) {
    const line = text.slice(0, match.index + match[0].length).split("\n").length;
    const names =
      /^\{(.*)\}$/s
        .exec(match[2]?.trim() ?? "")?.[1]
        ?.split(",")
        .map((name) => name.trim())
        .filter((name) => name !== "" && !name.startsWith("type ")) ?? [];
    found.push({ specifier: (match[3] ?? match[4])!, line, typeOnly: match[1] !== undefined, names });
  }
  return found;
}

function exportAllLines(text: string): number[] {
  const match = EXPORT_ALL.exec(text);
  return match === null ? [] : [text.slice(0, match.index + 1).split("\n").length];
}

function resolvePath(from: string, specifier: string): string {
  const parts = from.split("/").slice(0, -1);
  for (const part of specifier.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== ".") parts.push(part);
  }
  return parts.join("/");
}

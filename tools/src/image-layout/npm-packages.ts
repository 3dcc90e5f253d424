import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

export interface NpmPackage {
  readonly name: string;
  readonly version: string;
  readonly license: string | null;
  readonly folder: string;
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string | { readonly type?: string };
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

const TYPES = /^(@types\/|undici-types$)/;

/**
 * Keyed by folder, sorted.
 * @param names with the file that names each
 * @param without excluded packages, with their exclusive dependencies
 * @throws Error for a package that is not installed
 */
export function withDependencies(
  names: ReadonlyMap<string, string>,
  without: readonly string[],
): NpmPackage[] {
  const found = new Map<string, NpmPackage>();
  const queue: Wanted[] = [...names].map(([name, importer]) => ({
    name,
    from: dirname(importer),
    isNeeded: true,
  }));
  for (let wanted = queue.pop(); wanted !== undefined; wanted = queue.pop()) {
    const { name, from, isNeeded } = wanted;
    if (without.includes(name) || TYPES.test(name)) continue;
    const folder = folderOf(name, from);
    if (folder === null) {
      if (isNeeded) throw new Error(`${name}, which ${from} needs, is not installed`);
      continue;
    }
    if (found.has(folder)) continue;
    const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
    found.set(folder, {
      name: manifest.name,
      version: manifest.version,
      license: licenseOf(manifest),
      folder,
    });
    queue.push(...needsOf(manifest, folder));
  }
  return [...found.values()].sort((a, b) => (a.folder < b.folder ? -1 : 1));
}

interface Wanted {
  readonly name: string;
  readonly from: string;
  readonly isNeeded: boolean;
}

function needsOf(manifest: Manifest, from: string): Wanted[] {
  const { dependencies = {}, optionalDependencies = {}, peerDependencies = {} } = manifest;
  const needed = Object.keys(dependencies).filter((name) => !Object.hasOwn(optionalDependencies, name));
  const others = [...Object.keys(optionalDependencies), ...Object.keys(peerDependencies)];
  return [
    ...needed.map((name) => ({ name, from, isNeeded: true })),
    ...others.map((name) => ({ name, from, isNeeded: false })),
  ];
}

function folderOf(name: string, from: string): string | null {
  for (let at = from; ; at = dirname(at)) {
    const folder = join(at, "node_modules", name);
    if (existsSync(join(folder, "package.json"))) return folder;
    if (dirname(at) === at) return null;
  }
}

function licenseOf({ license }: Manifest): string | null {
  return typeof license === "string" ? license : (license?.type ?? null);
}

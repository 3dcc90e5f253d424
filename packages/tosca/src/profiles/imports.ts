// Resolves imports by path, by the end of a URL, or by profile name.
import { dirname, isAbsolute, join, normalize } from "node:path";
import { ToscaError } from "../errors.ts";
import type { FileSource } from "../files.ts";

export const MAX_SEARCHED_ENTRIES = 2_000;
const MAX_FOLDER_DEPTH = 8;
const MAX_URL_SEGMENTS = 8;

interface FoundFile {
  readonly path: string;
  readonly text: string;
}

export class ImportFinder {
  readonly notes: string[] = [];
  readonly #files: FileSource;
  readonly #home: string;
  readonly #folders: readonly string[];
  #profiles: ReadonlyMap<string, string> | null = null;

  constructor(files: FileSource, template: string, folders: readonly string[]) {
    this.#files = files;
    this.#home = dirname(template);
    this.#folders = folders.map((folder) => normalize(folder));
  }

  async find(name: string, from: string): Promise<FoundFile | null> {
    for (const path of new Set(this.#pathsOf(name, dirname(from)))) {
      const text = await this.#files.read(path);
      if (text !== null) return { path, text };
    }
    this.#profiles ??= await this.#searched();
    const path = this.#profiles.get(name);
    const text = path === undefined ? null : await this.#files.read(path);
    return path === undefined || text === null ? null : { path, text };
  }

  #pathsOf(name: string, folder: string): string[] {
    const roots = [folder, this.#home, ...this.#folders];
    if (name.startsWith("file://")) return [localPath(name)].filter((path) => path !== null);
    if (/^[a-z][a-z0-9+.-]*:\/\//i.test(name))
      return endsOf(name).flatMap((end) => roots.map((root) => join(root, end)));
    if (isAbsolute(name)) return [normalize(name)];
    const named = profilePaths(name);
    return [
      ...roots.map((root) => join(root, name)),
      ...endsOf(`file:///${name}`).flatMap((end) => this.#folders.map((root) => join(root, end))),
      ...[...this.#folders, join(this.#home, "profiles"), this.#home].flatMap((root) =>
        named.map((path) => join(root, path)),
      ),
    ];
  }

  /** Profile names in the template's folder and, recursively, in the profile folders. */
  async #searched(): Promise<Map<string, string>> {
    const found = new Map<string, string>();
    const queue = [
      { folder: this.#home, depth: MAX_FOLDER_DEPTH },
      { folder: join(this.#home, "profiles"), depth: 0 },
      ...this.#folders.map((folder) => ({ folder, depth: 0 })),
    ];
    let left = MAX_SEARCHED_ENTRIES;
    for (const { folder, depth } of queue) {
      for (const { name, isFolder } of (await this.#files.list?.(folder)) ?? []) {
        const path = join(folder, name);
        if (isFolder && depth < MAX_FOLDER_DEPTH) queue.push({ folder: path, depth: depth + 1 });
        if (isFolder || !/\.(ya?ml|tosca)$/i.test(name)) continue;
        if (--left < 0) {
          this.notes.push(`only ${MAX_SEARCHED_ENTRIES} files were searched for named profiles`);
          return found;
        }
        const own = profileName((await this.#textOf(path)) ?? "");
        if (own !== null && !found.has(own)) found.set(own, path);
      }
    }
    return found;
  }

  /** Null if unreadable; its importer reports it. */
  async #textOf(path: string): Promise<string | null> {
    try {
      return await this.#files.read(path);
    } catch (error) {
      if (error instanceof ToscaError) return null;
      throw error;
    }
  }
}

/** Declared name: `profile` in TOSCA 2.0, `namespace` in 1.3. */
function profileName(text: string): string | null {
  const [, , name] = /^(profile|namespace):[ \t]*["']?([^\s"'#]+)/m.exec(text) ?? [];
  return name ?? null;
}

function localPath(url: string): string | null {
  try {
    return normalize(decodeURIComponent(new URL(url).pathname));
  } catch {
    return null;
  }
}

/** `c/d.yaml` and `d.yaml` for `https://a.b/c/d.yaml`, longest first. */
function endsOf(url: string): string[] {
  const path = URL.canParse(url) ? new URL(url).pathname : "";
  const segments = path
    .split("/")
    .filter((segment) => segment !== "")
    .slice(-MAX_URL_SEGMENTS);
  return segments.map((_, index) => segments.slice(index).join("/"));
}

const TYPES_FILES = ["types.yaml", "types.yml"];

/** `a.b:1.0` is often stored as `a/b/1.0/profile.yaml`, `a/b/profile.yaml` or `a/b/types.yml`. */
function profilePaths(name: string): string[] {
  const [, base, version] = /^([\w.-]+):([\w.-]+)$/.exec(name) ?? [];
  if (base === undefined || version === undefined) return [];
  const folder = base.replaceAll(".", "/");
  return [
    `${folder}/${version}/profile.yaml`,
    `${folder}/profile.yaml`,
    `${folder}.yaml`,
    ...TYPES_FILES.map((name) => `${folder}/${name}`),
  ];
}

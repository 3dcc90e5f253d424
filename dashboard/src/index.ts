import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { extname, join } from "node:path";
import { reasonOf } from "@isochrone/primitives";

interface Asset {
  readonly contentType: string;
  readonly body: string | Buffer;
}

interface Page {
  readonly assets: ReadonlyMap<string, Asset>;
  /** Why a note replaces the page; null: the page is complete. */
  readonly missing: string | null;
}

export interface PageFolders {
  readonly sources: string;
  readonly builds: string;
  readonly program: string;
}

const FOLDERS: PageFolders = {
  sources: join(import.meta.dirname, "page"),
  builds: join(import.meta.dirname, "../dist"),
  program: join(import.meta.dirname, "build.ts"),
};

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".js": "text/javascript; charset=utf-8",
};

const BUILD_TIMEOUT_MS = 60_000;

/**
 * The web page, rebuilt when its sources are newer than every build, which takes a second or two. An image
 * has the build and no sources. If building fails, servers start anyway and serve a note.
 */
export function createPage(folders: PageFolders = FOLDERS): Page {
  try {
    return { assets: readAssets(builtFolder(folders)), missing: null };
  } catch (error) {
    const missing = reasonOf(error);
    return {
      assets: new Map([["/", { contentType: CONTENT_TYPES[".html"]!, body: noteOf(missing) }]]),
      missing,
    };
  }
}

/** Tells the page that this server has emulator routes; see page/emulator.ts. */
const EMULATOR_MARK = '<meta name="isochrone-emulator" content="on" />';

/**
 * Marks the embedded cluster's page, so that it shows the emulator's controls. Other assets are unchanged.
 */
export function withEmulator(page: Page): Page {
  const document = page.assets.get("/");
  if (page.missing !== null || document === undefined) return page;
  const body = String(document.body).replace("<head>", `<head>${EMULATOR_MARK}`);
  return { ...page, assets: new Map([...page.assets, ["/", { ...document, body }]]) };
}

/** Returns the build folder of exactly these sources. Throws if it neither exists nor can be built. */
function builtFolder(folders: PageFolders): string {
  if (!existsSync(folders.sources)) return newestBuild(folders.builds);
  const folder = join(folders.builds, sourceHash(folders));
  if (!existsSync(folder)) build(folders, folder);
  return folder;
}

function newestBuild(builds: string): string {
  const found = existsSync(builds) ? readdirSync(builds).filter((name) => !name.startsWith(".")) : [];
  const [newest] = found
    .map((name) => join(builds, name))
    .sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
  if (newest === undefined) throw new Error(`the page has neither sources nor a build in ${builds}`);
  return newest;
}

function sourceHash({ sources, program }: PageFolders): string {
  const hash = createHash("sha256");
  const files = readdirSync(sources, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.test\.tsx?$/.test(entry.name))
    .map(({ parentPath, name }) => join(parentPath, name))
    .sort();
  const manifest = join(program, "../../package.json");
  for (const file of [...files, program, ...(existsSync(manifest) ? [manifest] : [])])
    hash.update(file.slice(sources.length)).update("\0").update(readFileSync(file)).update("\0");
  return hash.digest("hex").slice(0, 16);
}

/** Builds aside and renames: several processes may build concurrently. */
function build({ builds, program }: PageFolders, folder: string): void {
  mkdirSync(builds, { recursive: true });
  const beside = join(builds, `.${process.pid}-${process.hrtime.bigint().toString(36)}`);
  try {
    const { status, error, stderr } = spawnSync(process.execPath, [program, beside], {
      encoding: "utf8",
      timeout: BUILD_TIMEOUT_MS,
      stdio: ["ignore", "ignore", "pipe"],
    });
    if (status !== 0) throw new Error(`the page could not be built: ${error?.message ?? firstLine(stderr)}`);
    const older = readdirSync(builds).filter((name) => !name.startsWith("."));
    if (!existsSync(folder)) renameSync(beside, folder);
    for (const name of older) rmSync(join(builds, name), { recursive: true, force: true });
  } catch (error) {
    if (!existsSync(folder)) throw error;
  } finally {
    rmSync(beside, { recursive: true, force: true });
  }
}

function firstLine(text: string): string {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.find((line) => line.includes("Error")) ?? lines[0] ?? "the build said nothing";
}

function readAssets(folder: string): ReadonlyMap<string, Asset> {
  const assets = new Map<string, Asset>();
  for (const { parentPath, name } of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const contentType = CONTENT_TYPES[extname(name)];
    if (contentType === undefined) continue;
    const file = join(parentPath, name);
    const path = file.slice(folder.length).replaceAll("\\", "/");
    assets.set(path === "/index.html" ? "/" : path, { contentType, body: readFileSync(file, "utf8") });
  }
  return assets;
}

function noteOf(missing: string): string {
  const text = missing.replaceAll(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Isochrone</title></head><body><main><h1>The page is not here</h1><p>The graph API runs; its web page could not be made ready: ${text}.</p><p>A clone needs <code>npm install</code> (with the development packages); an image brings the page with it. The graphs are at <a href="api/v1/graph/cluster">api/v1/graph/cluster</a>.</p></main></body></html>\n`;
}

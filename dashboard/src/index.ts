import { readdirSync, readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { extname, join } from "node:path";

/** A file of the page as a server hands it out. */
export interface Asset {
  readonly contentType: string;
  readonly body: string;
}

export interface Page {
  /** By URL path; "/" is the document. */
  readonly assets: ReadonlyMap<string, Asset>;
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".ts": "text/javascript; charset=utf-8",
};

/**
 * The web page. Its TypeScript runs in the browser as modules: the types are stripped here once, nothing is bundled, and paths keep
 * their `.ts` so that imports resolve the same in the editor and in the browser.
 */
export function createPage(): Page {
  const folder = join(import.meta.dirname, "../page");
  const assets = new Map<string, Asset>();
  for (const name of readdirSync(folder)) {
    const contentType = CONTENT_TYPES[extname(name)];
    if (contentType === undefined || name.endsWith(".test.ts")) continue;
    const text = readFileSync(join(folder, name), "utf8");
    const body = name.endsWith(".ts") ? stripTypeScriptTypes(text) : text;
    assets.set(name === "index.html" ? "/" : `/assets/${name}`, { contentType, body });
  }
  return { assets };
}

import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createPage, withEmulator, type PageFolders } from "./index.ts";

describe("the page", () => {
  const { assets, missing } = createPage();
  const document = String(assets.get("/")?.body);

  test("is built, and every local reference of its document exists", () => {
    expect(missing).toBeNull();
    const references = [...document.matchAll(/(?:href|src)="\.(\/assets\/[^"]+)"/g)].map(([, path]) => path!);
    expect(references.length).toBeGreaterThan(2);
    for (const path of references) expect([path, assets.has(path)]).toEqual([path, true]);
    expect([...assets.values()].every(({ contentType }) => contentType !== "")).toBe(true);
  });

  test("holds no inline script or style, so that a strict content security policy can hold", () => {
    expect(document).not.toMatch(/<style|style=|<script(?![^>]*src=)|\son\w+=/);
  });

  test("says that there is an emulator only where whoever serves it says so", () => {
    const mark = 'name="isochrone-emulator"';
    expect(document).not.toContain(mark);
    const page = withEmulator({ assets, missing });
    expect(String(page.assets.get("/")?.body)).toMatch(new RegExp(`<head>\\s*<meta ${mark}`));
    expect([...page.assets.keys()]).toEqual([...assets.keys()]);
  });

  test("asks nobody but its own server", () => {
    const scripts = [...assets].filter(([path]) => path.endsWith(".js")).map(([, { body }]) => String(body));
    const hosts = scripts.flatMap((text) => [...text.matchAll(/https?:\/\/[\w.-]+/g)].map(([url]) => url));
    // Markup namespaces are names, not addresses.
    expect(hosts.filter((url) => url !== "http://www.w3.org")).toEqual([]);
  });
});

describe("createPage", () => {
  let root: string;
  let folders: PageFolders;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "isochrone-page-"));
    folders = {
      sources: join(root, "page"),
      builds: join(root, "dist"),
      program: join(root, "src/build.ts"),
    };
    mkdirSync(folders.sources);
    mkdirSync(join(root, "src"));
    writeFileSync(join(folders.sources, "index.html"), "one");
    const copy = `import { cpSync } from "node:fs"; cpSync(${JSON.stringify(folders.sources)}, process.argv[2]!, { recursive: true });`;
    writeFileSync(folders.program, copy);
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));
  const body = (): unknown => createPage(folders).assets.get("/")?.body;

  test("builds what is new, once, and keeps no older build", () => {
    expect(body()).toBe("one");
    const first = readdirSync(folders.builds);
    expect(body()).toBe("one");
    expect(readdirSync(folders.builds)).toEqual(first);
    writeFileSync(join(folders.sources, "index.html"), "two");
    expect(body()).toBe("two");
    expect(readdirSync(folders.builds)).toHaveLength(1);
  });

  test("takes a build that came without sources", () => {
    expect(body()).toBe("one");
    rmSync(folders.sources, { recursive: true });
    expect(body()).toBe("one");
  });

  test("says what is missing where it can't be built, and leaves nothing half done", () => {
    writeFileSync(folders.program, 'throw new Error("<vite> is missing")');
    const { assets, missing } = createPage(folders);
    expect(missing).toContain("<vite> is missing");
    expect(assets.get("/")!.body).toContain("&#60;vite&#62; is missing");
    expect(readdirSync(folders.builds)).toEqual([]);
    rmSync(folders.sources, { recursive: true });
    expect(createPage(folders).missing).toContain("neither sources nor a build");
    expect(existsSync(folders.sources)).toBe(false);
  });
});

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const text = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const MOST_WORDS = 450;
const MOST_PICTURES = 3;

function linked(page: string): string[] {
  return [...text(page).matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)]
    .map(([, target]) => target!)
    .filter((target) => !/^[a-z]+:/.test(target));
}

describe("the README", () => {
  test("is read in two minutes", () => {
    expect(text("README.md").trim().split(/\s+/).length).toBeLessThanOrEqual(MOST_WORDS);
    expect([...text("README.md").matchAll(/!\[/g)].length).toBeLessThanOrEqual(MOST_PICTURES);
  });

  test.each([
    "README.md",
    "CONTRIBUTING.md",
    "docs/README.md",
    "docs/demo.md",
    "docs/status.md",
    "docs/comparison.md",
  ])("%s links to what is there", (page) => {
    const missing = linked(page).filter((target) => !existsSync(join(ROOT, dirname(page), target)));
    expect(missing).toEqual([]);
  });

  test("leads to every page by the index of the documentation", () => {
    const pages = readdirSync(join(ROOT, "docs")).filter(
      (name) => name.endsWith(".md") && name !== "README.md",
    );
    expect(pages.filter((name) => !linked("docs/README.md").includes(name))).toEqual([]);
    expect(linked("README.md")).toContain("docs/README.md");
  });
});

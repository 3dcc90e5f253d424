import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const PAGE = "docs/architecture.md";

const PATH = /`([\w.@-]+(?:\/[\w.@-]+)+)`/g;

test("docs/architecture.md names files and folders that exist", () => {
  const paths = [...readFileSync(join(ROOT, PAGE), "utf8").matchAll(PATH)].map(([, path]) => path!);
  expect(paths).toContain("tools/src/architecture.ts");
  expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

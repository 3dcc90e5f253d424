import { describe, expect, test } from "vitest";
import { scriptManifest, scriptName, scriptOf } from "./javascript.ts";

describe("a module of an image", () => {
  test("has no types, and each statement where it was", () => {
    const text =
      'import type { A } from "./a.ts";\nconst one: number = 1;\nexport function two(a: A): number {\n  return one;\n}\n';
    const code = scriptOf(text);
    expect(code.split("\n").map((line) => line.trimEnd())).toEqual([
      "",
      "const one         = 1;",
      "export function two(a   )         {",
      "  return one;",
      "}",
      "",
    ]);
  });

  test.each([
    ['import { a } from "./a.ts";', 'import { a } from "./a.js";'],
    ['export { a } from "../b/a.ts";', 'export { a } from "../b/a.js";'],
    ['import "./a.ts";', 'import "./a.js";'],
    ['const a = await import("./a.ts");', 'const a = await import("./a.js");'],
    [
      'new Worker(new URL("./worker.ts", import.meta.url));',
      'new Worker(new URL("./worker.js", import.meta.url));',
    ],
    [
      'const url = new URL("wire/main.ts", import.meta.url);',
      'const url = new URL("wire/main.js", import.meta.url);',
    ],
    ['import { b } from "@isochrone/bus";', 'import { b } from "@isochrone/bus";'],
    ['const text = "its module is a.ts";', 'const text = "its module is a.ts";'],
  ])("names others as they are called there: %s", (before, after) => {
    expect(scriptOf(before)).toBe(after);
  });

  test("is found by its package's entries", () => {
    const manifest = { name: "a", version: "1.0.0", exports: { ".": "./src/index.ts", "./b": "./src/b.ts" } };
    expect(JSON.parse(scriptManifest(JSON.stringify(manifest)))).toEqual({
      ...manifest,
      exports: { ".": "./src/index.js", "./b": "./src/b.js" },
    });
    expect(JSON.parse(scriptManifest('{"name":"a"}'))).toEqual({ name: "a" });
    expect([scriptName("a/b.ts"), scriptName("a/b.json")]).toEqual(["a/b.js", "a/b.json"]);
  });
});

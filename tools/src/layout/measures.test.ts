import { describe, expect, it } from "vitest";
import { fileCycles, mutualFolders } from "./cycles.ts";
import { LIMITS } from "./limits.ts";
import { countCasts, countStringIndexReads } from "./loose-types.ts";
import { excesses, measure } from "./measures.ts";
import { readSource } from "./source-text.ts";
import { wideCommentLines, wideHashLines, wideMarkdownLines } from "./wide-lines.ts";

const WIDE = "wide ".repeat(25).trim();

describe("cycles", () => {
  const edges = [
    { from: "a/x.ts", to: "a/y.ts" },
    { from: "a/y.ts", to: "b/z.ts" },
    { from: "b/z.ts", to: "a/x.ts" },
    { from: "b/z.ts", to: "c/w.ts" },
  ];

  it("are the groups of files that reach each other", () => {
    expect(fileCycles(edges)).toEqual([["a/x.ts", "a/y.ts", "b/z.ts"]]);
    expect(fileCycles(edges.slice(1))).toEqual([]);
  });

  it("of folders are pairs with imports both ways", () => {
    expect(mutualFolders(edges)).toEqual(["a <-> b"]);
  });
});

describe("wide lines", () => {
  const inScript = (text: string): number[] => wideCommentLines(text, readSource(text));

  it("of comments", () => {
    expect(inScript(`a();\n// ${WIDE}\n/**\n * ${WIDE}\n */\nb(); // ${WIDE}\n`)).toEqual([2, 4, 6]);
    expect(wideHashLines(`#!/bin/sh ${WIDE}\n# ${WIDE}\necho "${WIDE}"\n`)).toEqual([2]);
  });

  it("don't count in code, nor where nothing can be broken", () => {
    expect(inScript(`const a = "// ${WIDE}";\n// https://${"a".repeat(120)}\n`)).toEqual([]);
    expect(inScript(`// | ${WIDE} |\nany(); // oxlint-disable-line ${WIDE}\n`)).toEqual([]);
  });

  it("of Markdown are no lines of indented code", () => {
    expect(wideMarkdownLines(`Text:\n\n    ${WIDE}\n    ${WIDE}\n\n- item\n\n    ${WIDE}`)).toEqual([8]);
  });

  it("of Markdown, outside of tables, code, headings and links", () => {
    const page = [
      `# ${WIDE}`,
      `| ${WIDE} |`,
      "```",
      WIDE,
      "```",
      `- [a](${"b".repeat(120)})`,
      WIDE,
      `- ${WIDE}`,
    ];
    expect(wideMarkdownLines(page.join("\n"))).toEqual([7, 8]);
  });
});

it("counts reads by string, but not types and assignments", () => {
  const { code } = readSource(
    'a["b"] + c()["d"] + e?.["f"]; type G = H["i"]; j["k"] = 1; Of.Long["x"] === 2;',
  );
  expect(countStringIndexReads(code)).toBe(4);
});

it("counts casts, but not aliases and const", () => {
  const { code } = readSource(
    'import { a as b } from "c";\nimport * as d from "e";\n(f as G).h(i as unknown as J, ["k"] as const);',
  );
  expect(countCasts(code)).toBe(3);
});

describe("measures", () => {
  const files = [
    ...Array.from({ length: 26 }, (_, index) => ({ path: `a/src/f${index}.ts`, text: "const x = 1;\n" })),
    { path: "a/src/f.test.ts", text: "test();\ntest();\n" },
    { path: "docs/configuration.md", text: "| Setting |\n| --- |\n| `a.b` | |\n| `a.c` | |\n" },
    { path: "docs/metrics.md", text: "| `not_this` |\n<!-- reference: -->\n| `metric` |\n" },
  ];
  const measures = measure(files, new Map([["a", { name: "a" }]]));

  it("count lines, settings, metrics and files", () => {
    expect(measures).toMatchObject({
      packages: [{ folder: "a", files: 26, lines: 26, testLines: 2 }],
      folders: ["a/src: 26 files"],
      settings: 2,
      metrics: 1,
    });
  });

  it("above their limits are named with their places", () => {
    const limits = { ...LIMITS, foldersOver25Files: 0, settings: 1 };
    expect(excesses(measures, limits)).toEqual([
      { name: "foldersOver25Files", count: 1, limit: 0, places: ["a/src: 26 files"] },
      { name: "settings", count: 2, limit: 1, places: [] },
    ]);
    expect(excesses(measures, { ...limits, foldersOver25Files: 1, settings: 2 })).toEqual([]);
  });
});

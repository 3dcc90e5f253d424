import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { gzipSync } from "node:zlib";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readSettingsFile } from "./file.ts";
import {
  jsonNestingProblem,
  readTextFile,
  TextError,
  YAML_LIMITS,
  yamlDocuments,
  yamlSizeProblem,
  yamlValue,
} from "./yaml-text.ts";

const DEPTH = 20_000;
const TOO_DEEP = "values must be nested at most 64 deep, got more";

function problemOf(text: string): string {
  try {
    yamlValue(text);
  } catch (error) {
    if (error instanceof TextError) return error.message;
    throw error;
  }
  return "none";
}

test.each([
  ["flow lists", `a: 1\nb: ${"[".repeat(DEPTH)}`, 2],
  ["flow maps", "{a: ".repeat(DEPTH), 1],
  ["block lists", `${"- ".repeat(DEPTH)}x`, 1],
  ["block lists after flow maps that are left open", `a:\n  b: {c: {d\n    e: 1\n  ${"- ".repeat(DEPTH)}`, 4],
  ["block maps", Array.from({ length: 1_000 }, (_, i) => `${" ".repeat(i)}a:`).join("\n"), 66],
])("nesting in %s is refused with line and rule, not by a full stack", (_, text, line) => {
  expect(problemOf(text)).toBe(`line ${line}: ${TOO_DEEP}`);
});

test("64 levels are read", () => {
  const text = `${"[".repeat(63)}${"]".repeat(63)}`;
  expect(yamlSizeProblem(text, YAML_LIMITS)).toBeNull();
  expect(yamlValue(text)).toBeInstanceOf(Array);
});

test("a flat text of a megabyte is refused by its words, before YAML's parser takes seconds for it", () => {
  const rule = /^line \d+: the text must have at most \d+ words, signs and spaces, got more$/;
  expect(problemOf("- a\n".repeat(250_000))).toMatch(rule);
  expect(problemOf(`[${"1,".repeat(500_000)}1]`)).toMatch(rule);
});

test("a text that is too long is refused by its size", () => {
  expect(problemOf("a".repeat(1024 * 1024 + 1))).toBe("the text must be at most 1048576 bytes, got 1048577");
});

test("many keys take a time that grows with their number alone", () => {
  const keys = Array.from({ length: 15_000 }, (_, i) => `key${i}: ${i}`);
  expect(Object.keys(yamlValue(keys.join("\n")) as object)).toHaveLength(15_000);
  expect(problemOf([...keys, "key7: 0"].join("\n"))).toBe(
    'line 15001: must be YAML or JSON: Map keys must be unique, got "key7" twice',
  );
});

test.each([
  ["a: 1\nb: [1e999]\n", 'line 2: must be YAML or JSON: numbers must be finite, got "1e999"'],
  ["a: -.inf\n", 'line 1: must be YAML or JSON: numbers must be finite, got "-.inf"'],
  ["- .nan\n", 'line 1: must be YAML or JSON: numbers must be finite, got ".nan"'],
])("a number that isn't finite is named with its line: %j", (text, message) => {
  expect(() => yamlDocuments(text)).toThrow(message);
  expect(yamlValue("Infinity: .infinite\n")).toEqual({ Infinity: ".infinite" });
});

test("aliases that multiply are refused", () => {
  const bomb = Array.from({ length: 12 }, (_, i) =>
    i === 0 ? "a0: &a0 [x, x]" : `a${i}: &a${i} [${`*a${i - 1}, `.repeat(9)}]`,
  );
  expect(problemOf(bomb.join("\n"))).toContain("can't be read");
});

test("a syntax error is told with document and line", () => {
  expect(() => yamlDocuments("a: 1\n---\nb: [\n")).toThrow(/^line \d: must be YAML or JSON: /);
});

test("JSON of any depth is judged without filling the stack", () => {
  const deep: unknown = JSON.parse(`${"[".repeat(100_000)}${"]".repeat(100_000)}`);
  expect(jsonNestingProblem(deep)?.message).toBe(TOO_DEEP);
  expect(jsonNestingProblem({ a: [{ b: null }] })).toBeNull();
});

test("a settings file says what is too large in it, and no more of a file is read than may be", () => {
  const folder = mkdtempSync(join(tmpdir(), "isochrone-yaml-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "settings.yaml");
  writeFileSync(file, `bus: ${"[".repeat(DEPTH)}`);
  expect(() => readSettingsFile(file)).toThrow(
    `settings file ${file} must be readable YAML or JSON: line 1: ${TOO_DEEP}`,
  );
  expect(() => readTextFile("/dev/zero", 4096)).toThrow("the text must be at most 4096 bytes, got more");
});

test("a file's text is read in every encoding that tools write, and anything else is named", () => {
  const folder = mkdtempSync(join(tmpdir(), "isochrone-yaml-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "text");
  const read = (bytes: Buffer, limit?: number): string => {
    writeFileSync(file, bytes);
    return readTextFile(file, limit);
  };
  const text = "kind: Node # Zürich\n";
  const le = Buffer.from(text, "utf16le");
  const be = Buffer.from(le).swap16();
  const encodings = [
    Buffer.from(text),
    Buffer.from(`\uFEFF${text}`),
    Buffer.concat([Buffer.from([0xff, 0xfe]), le]),
    le,
    Buffer.concat([Buffer.from([0xfe, 0xff]), be]),
    be,
  ];
  for (const bytes of encodings) for (const each of [bytes, gzipSync(bytes)]) expect(read(each)).toBe(text);
  expect(read(Buffer.alloc(0))).toBe("");
  expect(() => read(gzipSync(Buffer.alloc(10_000)), 1_000)).toThrow("at most 1000 bytes, got more");
  const rule = "must be text in UTF-8 or UTF-16, plain or in gzip, got";
  expect(() => read(gzipSync(text).subarray(0, 20))).toThrow(`${rule} gzip data that can't be read: `);
  expect(() => read(Buffer.from("PK\u0003\u0004rest"))).toThrow(`${rule} a zip archive`);
  expect(() => read(Buffer.from("28b52ffd00", "hex"))).toThrow(`${rule} zstd data`);
  expect(() => read(Buffer.from("Zürich", "latin1"))).toThrow(`${rule} other bytes`);
});

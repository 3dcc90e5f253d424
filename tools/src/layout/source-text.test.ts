import { expect, it } from "vitest";
import { readSource } from "./source-text.ts";

const codeOf = (text: string): string => readSource(text).code;

it("keeps the length and the lines of the text", () => {
  const text = "const a = `x${'y'}\nz`; // end\n/* b\n */ const c = /[/]\"/g;\n";
  const { code } = readSource(text);
  expect(code).toHaveLength(text.length);
  expect(code.split("\n").length).toBe(text.split("\n").length);
});

it.each([
  ["a line comment", "a(); // b()", "a();       "],
  ["a block comment", "a(/* b */);", "a(       );"],
  ["a string", 'a("b // c");', 'a("      ");'],
  ["an escaped quote", String.raw`a("\"b");`, 'a("   ");'],
  ["a template with code in it", "`a${b({ c: `d` })}e`", "` ${b({ c: ` ` })} `"],
  ["a regular expression with a quote", 'x.replace(/["/]/g, y)', "x.replace(/    /g, y)"],
  ["a division", "a / b / c", "a / b / c"],
])("blanks what is not code: %s", (_, text, code) => {
  expect(codeOf(text)).toBe(code);
});

it("finds comments, but not in strings", () => {
  const text = 'const url = "http://a"; // one\n/** two */';
  expect(readSource(text).comments.map(({ start, end }) => text.slice(start, end))).toEqual([
    "// one",
    "/** two */",
  ]);
});

import { expect, test } from "vitest";
import { hasHidden, visible, visibleData, visibleLines, visibleSource } from "./visible.ts";

const HIDDEN = [
  ["escape", "\u001b", String.raw`\u{1b}`],
  ["bell", "\u0007", String.raw`\u{7}`],
  ["line feed", "\n", String.raw`\u{a}`],
  ["carriage return", "\r", String.raw`\u{d}`],
  ["delete", "\u007f", String.raw`\u{7f}`],
  ["CSI of 8 bits", "\u009b", String.raw`\u{9b}`],
  ["right-to-left override", "\u202e", String.raw`\u{202e}`],
  ["isolate", "\u2066", String.raw`\u{2066}`],
  ["zero-width space", "\u200b", String.raw`\u{200b}`],
  ["line separator", "\u2028", String.raw`\u{2028}`],
  ["byte order mark", "\ufeff", String.raw`\u{feff}`],
  ["tag", "\u{e0041}", String.raw`\u{e0041}`],
  ["half a pair", "\ud800", String.raw`\u{d800}`],
] as const;

test.each(HIDDEN)("%s is shown escaped", (_, character, shown) => {
  expect(visible(`a${character}b`)).toBe(`a${shown}b`);
  expect(hasHidden(character)).toBe(true);
});

test("every control character is shown, and showing twice changes nothing more", () => {
  const controls = Array.from({ length: 0xa0 }, (_, code) => String.fromCharCode(code)).join("");
  // eslint-disable-next-line no-control-regex
  expect(visible(controls)).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
  expect(visible(visible(controls))).toBe(visible(controls));
});

test("letters of all scripts, signs and pairs of surrogates stay", () => {
  const text = "zażółć 東京 مرحبا – × 😀 a\\b";
  expect(visible(text)).toBe(text);
  expect(hasHidden(text)).toBe(false);
});

test("line feeds and tabs of our own text stay", () => {
  expect(visibleLines("a\tb\nc\u001b[2J\rd")).toBe("a\tb\nc\\u{1b}[2J\\u{d}d");
});

test("all texts of data are shown, names of fields too; the data itself stays as it was", () => {
  const at = new Date(0);
  const data = { "x\u001b": ["\n", { deep: "\u202e" }], n: 1, none: null, at };
  expect(visibleData(data)).toEqual({
    [String.raw`x\u{1b}`]: [String.raw`\u{a}`, { deep: String.raw`\u{202e}` }],
    n: 1,
    none: null,
    at,
  });
  expect(data["x\u001b"][0]).toBe("\n");
});

test("JSON says the same after what is hidden was escaped in it", () => {
  const data = HIDDEN.map(([, character]) => character);
  const source = visibleSource(JSON.stringify(data));
  expect(hasHidden(source)).toBe(false);
  expect(JSON.parse(source)).toEqual(data);
});

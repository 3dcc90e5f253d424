import { describe, expect, it } from "vitest";
import { isNestedTooDeeply, MAX_JSON_LEVELS, parseJson } from "./fields.ts";
import { seeded } from "./seeded.ts";

const nested = (levels: number, open: string, close: string, heart = "1"): string =>
  open.repeat(levels) + heart + close.repeat(levels);

describe("JSON from outside", () => {
  it.each([
    ["[", "]"],
    ['{"a":', "}"],
    ['[{"[[[[":', "}]"],
    [String.raw`[{"\\\"[":`, "}]"],
  ])("is read up to the bound and not beyond: %s", (open, close) => {
    const each = open.startsWith("[{") ? 2 : 1;
    const most = nested(MAX_JSON_LEVELS / each, open, close);
    expect(JSON.stringify(parseJson(most))).toBe(JSON.stringify(JSON.parse(most)));
    for (const levels of [MAX_JSON_LEVELS / each + 1, 5_000, 100_000])
      expect(() => parseJson(nested(levels, open, close))).toThrow(
        "values must be nested at most 100 levels deep, got more",
      );
  });

  it("has a depth that strings and siblings don't add to", () => {
    const draw = seeded(1);
    const texts = ["[", "{", "]", "\\", '"', '\\"', "a[{"];
    for (let round = 0; round < 200; round++) {
      const list = Array.from({ length: 300 }, () =>
        Array.from({ length: 1 + Math.floor(draw() * 4) }, () => texts[Math.floor(draw() * texts.length)]),
      );
      const text = JSON.stringify(list);
      expect(isNestedTooDeeply(text)).toBe(false);
      expect(isNestedTooDeeply(nested(MAX_JSON_LEVELS - 2, "[", "]", text))).toBe(false);
      expect(isNestedTooDeeply(nested(MAX_JSON_LEVELS - 1, "[", "]", text))).toBe(true);
    }
  });

  it("that is none is told as by JSON.parse", () => {
    for (const text of ["", '"', '["', "[1,]", "]".repeat(300), `{"a":"${"[".repeat(300)}`])
      expect(() => parseJson(text)).toThrow(SyntaxError);
  });
});

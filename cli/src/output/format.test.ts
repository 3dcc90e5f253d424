import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { formatted } from "./format.ts";

describe("formats", () => {
  const shared = { ms: 1 };
  const value = { a: shared, b: shared, long: "word ".repeat(40).trim() };

  it("prints the same data as JSON and as YAML, without anchors and folded lines", () => {
    expect(JSON.parse(formatted("json", value, () => ""))).toEqual(value);
    const yaml = formatted("yaml", value, () => "");
    expect(parse(yaml)).toEqual(value);
    expect(yaml).not.toMatch(/[&*]/);
    expect(yaml.split("\n")).toHaveLength(5);
  });

  it("makes the text only for people", () => {
    expect(formatted("table", value, () => "text")).toBe("text");
    expect(() =>
      formatted("json", value, () => {
        throw new Error("made");
      }),
    ).not.toThrow();
  });
});

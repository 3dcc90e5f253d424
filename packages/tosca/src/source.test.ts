import { describe, expect, it } from "vitest";
import { LIMITS, parseSource } from "./source.ts";

const failure = (text: string): string => {
  try {
    parseSource(text, "x.yaml");
    return "nothing failed";
  } catch (error) {
    return (error as Error).message;
  }
};
const MIB = 1024 * 1024;

describe("a source", () => {
  it("finds the line of a value, through aliases too", () => {
    const source = parseSource("a: &x\n  b: [ 1, 2 ]\nc:\n  d: *x\n", "x.yaml");
    expect(source.root).toEqual({ a: { b: [1, 2] }, c: { d: { b: [1, 2] } } });
    expect(source.positionOf(["c", "d"])).toEqual({ line: 4, column: 6 });
    expect(source.positionOf(["c", "d", "b", 1])).toEqual({ line: 2, column: 11 });
    expect(source.positionOf(["c", "e", "f"])).toEqual({ line: 4, column: 3 });
    expect(parseSource('{"a": {\n "b": 1}}', "x.json").positionOf(["a", "b"])).toEqual({
      line: 2,
      column: 7,
    });
  });

  it("merges maps, the nearer word first", () => {
    const { root } = parseSource("a: &a { x: 1, y: 1 }\nb: { <<: [ *a, { z: 3, x: 2 } ], y: 4 }\n", "x.yaml");
    expect(root).toMatchObject({ b: { x: 1, y: 4, z: 3 } });
  });

  it("takes no key for anything but a key", () => {
    const { root } = parseSource("__proto__: { polluted: true }\nconstructor: 1\n", "x.yaml");
    expect(({} as { polluted?: boolean }).polluted).toBe(undefined);
    expect(Object.keys(root as object)).toEqual(["__proto__", "constructor"]);
  });

  it.each([
    ["m:\n  a: b\n  [c, d]: e\n  {f: g}: h\n", { m: { a: "b", "[c, d]": "e", "{f: g}": "h" } }],
    ["1.10: a\n1.1: b\n~: c\ntrue: d\n", { "1.10": "a", "1.1": "b", null: "c", true: "d" }],
    ["&k key: 1\nb: *k\n", { key: 1, b: "key" }],
    ["%YAML 1.1\n---\na: &a { x: yes }\nb: { <<: *a, y: 017 }\n", { a: { x: true }, b: { x: true, y: 15 } }],
    ["a: !!set { x, y }\nb: !!omap [ k: v ]\n", { a: { x: null, y: null }, b: [{ k: "v" }] }],
    ["a: !!binary aGk=\nb: !!timestamp 2001-12-14\nc: !own 1\n", { a: "aGk=", b: "2001-12-14", c: "1" }],
  ])("reads valid YAML: %j", (text, root) => {
    expect(parseSource(text, "x.yaml").root).toEqual(root);
  });

  it("cuts keys that shared parts make long", () => {
    const text = `a: &a [ ${"x, ".repeat(1000)}x ]\n? [ *a, *a, *a ]\n: 1\n`;
    const keys = Object.keys(parseSource(text, "x.yaml").root as object);
    expect(Math.max(...keys.map((key) => key.length))).toBeLessThan(1100);
  });

  it.each([
    ["a: b: c", "x.yaml:1:4: must be YAML or JSON: Nested mappings are not allowed"],
    ["{", "x.yaml:1:2: must be YAML or JSON"],
    ["a: 1\nb: 2\na: 3\n", 'x.yaml:3:1: "a" must not be there twice'],
    ["a: 1\nb: [1e999]\n", "x.yaml:2:5: numbers must be finite, got 1e999"],
    ['{"a": [1e999]}', "numbers must be finite, got Infinity"],
    ["a: 1\n---\nb: 2\n", "multiple documents"],
    ["a: *b\n", "x.yaml:1:4: *b must name an anchor that comes before it"],
    ["a: &a\n  b: *a\n", "x.yaml:2:6: *a must not be a part of itself"],
    ["a: { <<: 3 }\n", "<< must name a map or a list of maps"],
  ])("refuses %j", (text, message) => {
    expect(failure(text)).toContain(message);
  });

  it("is bounded: bytes, values, nesting", () => {
    expect(failure("#".repeat(50 * MIB))).toBe(
      "x.yaml: the file must be at most 2 MiB, got 50.0 MiB; JSON may be larger",
    );
    expect(failure(`{"a":"${"x".repeat(50 * MIB)}"}`)).toBe(
      "x.yaml: the file must be at most 32 MiB, got 50.0 MiB",
    );
    const deep = `values must be nested at most ${LIMITS.nesting} deep, got more`;
    expect(failure("[".repeat(MIB))).toBe(`x.yaml:1:102: ${deep}`);
    expect(failure(`${"- ".repeat(MIB / 2)}x`)).toContain(deep);
    expect(
      failure(Array.from({ length: 1000 }, (_, index) => `${" ".repeat(index)}a:\n`).join("")),
    ).toContain(deep);
    expect(failure(`{"a": ${"[".repeat(100_000)}${"]".repeat(100_000)}}`)).toContain(deep);
    expect(failure(`a: ${"[".repeat(90)}${"]".repeat(90)}`)).toBe("nothing failed");
  });

  it("survives aliases that multiply", () => {
    const nine = (name: string): string => `[ ${Array(9).fill(name).join(", ")} ]`;
    const bomb = Array.from(
      { length: 20 },
      (_, index) => `a${index}: &a${index} ${index === 0 ? "x" : nine(`*a${index - 1}`)}\n`,
    );
    expect(failure(bomb.join(""))).toContain("the file must have at most 500000 values, aliases spelled out");
    const merges = Array.from(
      { length: 2000 },
      (_, index) => `m${index}: &m${index} { ${index === 0 ? "" : `<<: *m${index - 1}, `}k${index}: 1 }\n`,
    );
    expect(failure(merges.join(""))).toContain("the file must have at most 500000 values");
  });

  it("takes block scalars with brackets for what they are", () => {
    const text = `a: |\n  ${"[".repeat(500)}\nb: "${"{".repeat(500)}"\n`;
    expect(failure(text)).toBe("nothing failed");
  });
});

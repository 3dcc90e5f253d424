import { describe, expect, it } from "vitest";

import { StoreError } from "./errors.ts";
import { cloneJson, mergePatch } from "./json.ts";

describe("mergePatch", () => {
  // Source: RFC 7396, Appendix A.
  it.each([
    [{ a: "b" }, { a: "c" }, { a: "c" }],
    [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
    [{ a: "b" }, { a: null }, {}],
    [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
    [{ a: ["b"] }, { a: "c" }, { a: "c" }],
    [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
    [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
    [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
    [
      ["a", "b"],
      ["c", "d"],
      ["c", "d"],
    ],
    [{ a: "b" }, ["c"], ["c"]],
    [{ a: "foo" }, null, null],
    [{ a: "foo" }, "bar", "bar"],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: "b", c: null }, { a: "b" }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])("merges %j with %j to %j", (target, patch, result) => {
    expect(mergePatch(target, patch)).toEqual(result);
  });

  it("lets no patch reach a prototype", () => {
    const patch: unknown = JSON.parse(
      '{"__proto__": {"polluted": true}, "constructor": {"prototype": {"polluted": true}}}',
    );
    const merged = mergePatch({}, patch) as Record<string, unknown>;
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
    expect(merged["polluted"]).toBeUndefined();
    expect(Object.getPrototypeOf(merged)).toBe(Object.prototype);
  });
});

describe("cloneJson", () => {
  it("drops what is undefined, as the wire does", () => {
    expect(cloneJson({ a: undefined, b: [undefined] })).toStrictEqual({ b: [null] });
  });

  it("refuses what JSON can't carry, and cycles", () => {
    const cycle: Record<string, unknown> = {};
    cycle["self"] = cycle;
    for (const value of [Number.NaN, 1n, () => 1, new Map(), cycle])
      expect(() => cloneJson({ value })).toThrow(StoreError);
  });
});

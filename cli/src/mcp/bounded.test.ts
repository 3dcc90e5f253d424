import { assert, nat, object, property } from "fast-check";
import { describe, expect, it } from "vitest";
import { boundedTo } from "./bounded.ts";

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

describe("boundedTo", () => {
  it("leaves what fits as it is", () => {
    const value = { links: numbers(10), note: "x" };
    expect(boundedTo(value, 1000)).toEqual({ value, leftOut: [] });
  });

  it("cuts the longest list from its end and says so", () => {
    const bounded = boundedTo({ links: numbers(1000), nodes: ["a", "b"] }, 200);
    expect(bounded?.value).toMatchObject({ nodes: ["a", "b"] });
    const [leftOut] = bounded!.leftOut;
    expect(leftOut).toMatchObject({ list: "links", of: 1000 });
    expect(bounded?.value).toMatchObject({ links: numbers(leftOut!.shown) });
    expect(JSON.stringify(bounded?.value).length).toBeLessThanOrEqual(200);
  });

  it("cuts lists in lists and tables by name, counted together", () => {
    const table = Object.fromEntries(numbers(400).map((index) => [`node-${index}`, index]));
    const bounded = boundedTo({ peers: [{ rttMs: table }, { rttMs: table }] }, 800);
    expect(bounded?.leftOut).toEqual([{ list: "peers[].rttMs", shown: 50, of: 800 }]);
  });

  it("is null for what no cutting makes short enough", () => {
    expect(boundedTo({ note: "x".repeat(100) }, 50)).toBeNull();
  });

  it("never changes what it is given, never exceeds the limit, and is valid JSON of a part", () => {
    assert(
      property(object({ maxDepth: 4, withNullPrototype: false }), nat(2000), (value, limit) => {
        const before = structuredClone(value);
        const bounded = boundedTo(value, limit);
        expect(value).toEqual(before);
        const length = bounded === null ? 0 : JSON.stringify(bounded.value).length;
        expect(length).toBeLessThanOrEqual(limit);
      }),
      { numRuns: 200 },
    );
  });
});

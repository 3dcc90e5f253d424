import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ByteTable } from "./byte-table.ts";
import type { KeyRange } from "./byte-table.ts";

function key(text: string): KeyRange {
  const bytes = Buffer.from(`..${text}..`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { bytes, view, start: 2, end: bytes.length - 2 };
}

function intern(table: ByteTable<string>, text: string, owner = 0): string {
  return table.find(owner, 0, key(text)) ?? table.add(owner, 0, key(text), () => `${owner}/${text}`);
}

describe("ByteTable", () => {
  it("finds what was added by equal bytes, wherever they lie", () => {
    const table = new ByteTable<string>(10, 1);
    expect(table.find(0, 0, key("abcde"))).toBeUndefined();
    intern(table, "abcde");
    expect(table.find(0, 0, key("abcde"))).toBe("0/abcde");
    expect(table.find(0, 0, key("abcdf"))).toBeUndefined();
    expect(table.find(0, 0, key("abcd"))).toBeUndefined();
    expect(table.find(0, 0, key(""))).toBeUndefined();
  });

  it("keeps equal bytes of different owners and parts apart", () => {
    const table = new ByteTable<string>(10, 1);
    intern(table, "a", 1);
    expect(table.find(2, 0, key("a"))).toBeUndefined();
    expect(table.find(1, 1, key("a"))).toBeUndefined();
    expect(intern(table, "a", 2)).toBe("2/a");
    expect(intern(table, "a", 1)).toBe("1/a");
  });

  it("keeps a copy of its own of the bytes", () => {
    const table = new ByteTable<string>(10, 1);
    const changing = key("abc");
    let copied = "";
    table.add(0, 0, changing, (copy) => {
      copied = copy.bytes.toString("utf8", copy.start, copy.end);
      return "value";
    });
    changing.bytes.fill(0);
    expect(copied).toBe("abc");
    expect(table.find(0, 0, key("abc"))).toBe("value");
  });

  it("evicts the least recently used, and counts it", () => {
    const table = new ByteTable<string>(2, 1);
    for (const text of ["a", "b", "a", "c"]) intern(table, text);
    expect([table.size, table.evictions]).toEqual([2, 1]);
    expect(table.find(0, 0, key("b"))).toBeUndefined();
    expect(table.find(0, 0, key("a"))).toBe("0/a");
  });

  it("holds keys longer than a chunk", () => {
    const table = new ByteTable<string>(10, 1);
    const long = "x".repeat(50_000);
    intern(table, long);
    intern(table, "short");
    expect(table.find(0, 0, key(long))).toBe(`0/${long}`);
    expect(table.find(0, 0, key("short"))).toBe("0/short");
  });

  it("stays as it was when making the value fails", () => {
    const table = new ByteTable<string>(10, 1);
    const failing = (): never => {
      throw new Error("no");
    };
    expect(() => table.add(0, 0, key("a"), failing)).toThrow("no");
    expect([table.size, table.find(0, 0, key("a"))]).toEqual([0, undefined]);
  });

  it("behaves as a bounded map in order of use", () => {
    const step = fc.tuple(
      fc.integer({ min: 0, max: 2 }),
      fc.string({ maxLength: 3, unit: fc.constantFrom("a", "b", "c") }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400 }), fc.integer({ min: 1, max: 90 }), (steps, capacity) => {
        const table = new ByteTable<string>(capacity, 7);
        const model = new Map<string, string>();
        for (const [owner, text] of steps) {
          const name = `${owner}/${text}`;
          expect(table.find(owner, 0, key(text))).toBe(model.get(name));
          expect(intern(table, text, owner)).toBe(name);
          model.delete(name);
          model.set(name, name);
          if (model.size > capacity) model.delete([...model.keys()][0]!);
          expect(table.size).toBe(model.size);
        }
      }),
    );
  });

  it("forgets what nobody asked for over as many generations as are kept, and gives its slot away", () => {
    const table = new ByteTable<string>(1000, 1);
    intern(table, "a");
    intern(table, "b");
    table.endGeneration(2);
    table.find(0, 0, key("a"));
    table.endGeneration(2);
    expect(table.size).toBe(2);
    table.endGeneration(2);
    expect(table.find(0, 0, key("b"))).toBeUndefined();
    expect(table.find(0, 0, key("a"))).toBe("0/a");
    intern(table, "c");
    expect([table.size, table.evictions]).toEqual([2, 0]);
    expect(table.find(0, 0, key("c"))).toBe("0/c");
  });

  it("finds all that stay, and copies that say the same, after many others have gone", () => {
    const table = new ByteTable<() => string>(100_000, 1);
    const add = (text: string): (() => string) =>
      table.add(0, 0, key(text), (copy) => () => copy.bytes.toString("latin1", copy.start, copy.end));
    for (let generation = 0; generation < 20; generation++) {
      for (let i = 0; i < 1000; i++) add(`passing-${generation}-${i}`.padEnd(60, "."));
      for (let i = 0; i < 50; i++)
        if (table.find(0, 0, key(`staying-${i}`)) === undefined) add(`staying-${i}`);
      table.endGeneration(1);
      expect(table.size).toBe(1050);
    }
    for (let i = 0; i < 50; i++) expect(table.find(0, 0, key(`staying-${i}`))?.()).toBe(`staying-${i}`);
    expect(table.evictions).toBe(0);
  });
});

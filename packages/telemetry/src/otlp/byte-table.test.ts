import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ByteTable, KeyedEntry, type KeyPlace } from "./byte-table.ts";
import type { KeyRange } from "./byte-hash.ts";

function key(text: string): KeyRange {
  const bytes = Buffer.from(`..${text}..`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { bytes, view, start: 2, end: bytes.length - 2 };
}

class Named extends KeyedEntry {
  readonly name: string;

  constructor(name: string, place: KeyPlace) {
    super(place);
    this.name = name;
  }

  get copy(): string {
    return this.bytes.toString("latin1", this.start, this.end);
  }
}

function find(table: ByteTable<Named>, text: string, owner = 0, part = 0): string | undefined {
  return table.find(owner, part, key(text))?.name;
}

function intern(table: ByteTable<Named>, text: string, owner = 0): string {
  const add = (): Named => table.add(owner, 0, key(text), (place) => new Named(`${owner}/${text}`, place));
  return find(table, text, owner) ?? add().name;
}

describe("ByteTable", () => {
  it("finds what was added by equal bytes, wherever they lie", () => {
    const table = new ByteTable<Named>(10, 1);
    expect(find(table, "abcde")).toBeUndefined();
    intern(table, "abcde");
    expect(find(table, "abcde")).toBe("0/abcde");
    expect(find(table, "abcdf")).toBeUndefined();
    expect(find(table, "abcd")).toBeUndefined();
    expect(find(table, "")).toBeUndefined();
  });

  it("keeps equal bytes of different owners and parts apart", () => {
    const table = new ByteTable<Named>(10, 1);
    intern(table, "a", 1);
    expect(find(table, "a", 2, 0)).toBeUndefined();
    expect(find(table, "a", 1, 1)).toBeUndefined();
    expect(intern(table, "a", 2)).toBe("2/a");
    expect(intern(table, "a", 1)).toBe("1/a");
  });

  it("keeps a copy of its own of the bytes", () => {
    const table = new ByteTable<Named>(10, 1);
    const changing = key("abc");
    let copied = "";
    table.add(0, 0, changing, (place) => {
      copied = place.bytes.toString("utf8", place.start, place.end);
      return new Named("value", place);
    });
    changing.bytes.fill(0);
    expect(copied).toBe("abc");
    expect(find(table, "abc")).toBe("value");
  });

  it("evicts the least recently used, and counts it", () => {
    const table = new ByteTable<Named>(2, 1);
    for (const text of ["a", "b", "a", "c"]) intern(table, text);
    expect([table.size, table.evictions]).toEqual([2, 1]);
    expect(find(table, "b")).toBeUndefined();
    expect(find(table, "a")).toBe("0/a");
  });

  it("holds keys longer than a chunk", () => {
    const table = new ByteTable<Named>(10, 1);
    const long = "x".repeat(50_000);
    intern(table, long);
    intern(table, "short");
    expect(find(table, long)).toBe(`0/${long}`);
    expect(find(table, "short")).toBe("0/short");
  });

  it("stays as it was when making the value fails", () => {
    const table = new ByteTable<Named>(10, 1);
    const failing = (): never => {
      throw new Error("no");
    };
    expect(() => table.add(0, 0, key("a"), failing)).toThrow("no");
    expect([table.size, find(table, "a")]).toEqual([0, undefined]);
  });

  it("behaves as a bounded map in order of use", () => {
    const step = fc.tuple(
      fc.integer({ min: 0, max: 2 }),
      fc.string({ maxLength: 3, unit: fc.constantFrom("a", "b", "c") }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400 }), fc.integer({ min: 1, max: 90 }), (steps, capacity) => {
        const table = new ByteTable<Named>(capacity, 7);
        const model = new Map<string, string>();
        for (const [owner, text] of steps) {
          const name = `${owner}/${text}`;
          expect(find(table, text, owner, 0)).toBe(model.get(name));
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
    const table = new ByteTable<Named>(1000, 1);
    intern(table, "a");
    intern(table, "b");
    table.endGeneration(2);
    find(table, "a");
    table.endGeneration(2);
    expect(table.size).toBe(2);
    table.endGeneration(2);
    expect(find(table, "b")).toBeUndefined();
    expect(find(table, "a")).toBe("0/a");
    intern(table, "c");
    expect([table.size, table.evictions]).toEqual([2, 0]);
    expect(find(table, "c")).toBe("0/c");
  });

  it("finds all that stay, and copies that say the same, after many others have gone", () => {
    const gone: string[] = [];
    const table = new ByteTable<Named>(100_000, 1, "bytes", ({ name }) => gone.push(name));
    const add = (text: string): Named => table.add(0, 0, key(text), (place) => new Named(text, place));
    for (let generation = 0; generation < 20; generation++) {
      for (let i = 0; i < 1000; i++) add(`passing-${generation}-${i}`);
      for (let i = 0; i < 50; i++) if (find(table, `staying-${i}`) === undefined) add(`staying-${i}`);
      table.endGeneration(1);
      expect(table.size).toBe(1050);
    }
    for (let i = 0; i < 50; i++) expect(table.find(0, 0, key(`staying-${i}`))?.copy).toBe(`staying-${i}`);
    expect(table.evictions).toBe(0);
    expect([gone.length, gone[0], gone.at(-1)]).toEqual([19_000, "passing-0-0", "passing-18-999"]);
  });
});

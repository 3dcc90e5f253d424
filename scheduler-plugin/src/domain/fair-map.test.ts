import { describe, expect, test } from "vitest";
import { FairMap } from "./fair-map.ts";

interface Entry {
  readonly namespace: string;
  readonly owner: string;
}

const of = (limit: number): FairMap<Entry> => new FairMap<Entry>(limit, (entry) => entry);
const keysOf = (map: FairMap<Entry>): string[] => Array.from(map.entries(), ([key]) => key);

describe("a fair map", () => {
  test("drops the oldest entry when all have as many", () => {
    const map = of(3);
    for (const key of ["a", "b", "c", "d"]) map.set(key, { namespace: "shop", owner: key });
    expect(keysOf(map)).toEqual(["b", "c", "d"]);
  });

  test("keeps a namespace's entries whatever another one adds", () => {
    const map = of(10);
    for (let index = 0; index < 3; index++) map.set(`shop/${index}`, { namespace: "shop", owner: "p" });
    for (let index = 0; index < 10_000; index++)
      map.set(`evil/${index}`, { namespace: "evil", owner: `p-${index}` });
    expect(keysOf(map).filter((key) => key.startsWith("shop/"))).toHaveLength(3);
    expect(map.size).toBe(10);
    expect(keysOf(map).at(-1)).toBe("evil/9999");
  });

  test("keeps an owner's entries whatever others of its namespace add", () => {
    const map = of(5);
    map.set("p", { namespace: "shop", owner: "small" });
    for (let index = 0; index < 100; index++) map.set(`q-${index}`, { namespace: "shop", owner: "large" });
    expect(map.has("p")).toBe(true);
  });

  test("says what went, and what is replaced or deleted counts no more", () => {
    const map = of(2);
    map.set("a", { namespace: "shop", owner: "a" });
    map.set("b", { namespace: "shop", owner: "b" });
    expect(map.set("a", { namespace: "other", owner: "a" })).toBeNull();
    expect(map.set("c", { namespace: "shop", owner: "c" })?.key).toBe("b");
    expect(map.delete("c")).toBe(true);
    expect(map.delete("c")).toBe(false);
    expect(keysOf(map)).toEqual(["a"]);
    map.delete("a");
    expect(map.set("d", { namespace: "shop", owner: "d" })).toBeNull();
    expect(map.size).toBe(1);
  });
});

import { describe, expect, test } from "vitest";
import { NetworkKeeper, readNetwork } from "./links.ts";

const NODES = new Set(["a", "b", "c"]);

describe("a FlowNetwork", () => {
  test("counts by its good links; each other one is named with its rule and value", () => {
    const links = [
      { source: "a", target: "b", capacity: "10M" },
      { source: "a", target: "attic", capacity: "10M" },
      { source: "b", target: "c", capacity: "fast" },
      { source: "b", target: "c", capacity: "0" },
      { source: "b", target: "b", capacity: "1M" },
      { source: "b", target: "a", capacity: "1M" },
      { source: "b", target: "c", capacity: "1M", duplex: "both" },
      "no link",
    ];
    const { links: good, refused } = readNetwork({ links }, NODES, new Set());
    expect(good).toEqual([{ source: "a", target: "b", capacityBitsPerSecond: 10e6, duplex: "full" }]);
    expect(refused).toEqual([
      "network: link a -> attic must join known nodes, got attic",
      'spec.links.2.capacity must be a quantity of bits per second, such as 10M, got "fast"',
      "network: capacity of link b -> c must be above 0 and at most 2^53 - 1 bit/s, got 0",
      "network: link b -> b must join two nodes, got one",
      "network: link b -> a must be declared once, got it twice",
      'spec.links.6.duplex must be one of full, half, simplex, got "both"',
      "spec.links.7.capacity must be a quantity of bits per second, such as 10M, got nothing",
    ]);
  });

  test("may declare the way back of a simplex link, and nothing that another one declares", () => {
    const taken = new Set<string>();
    const there = { source: "a", target: "b", capacity: "1M", duplex: "simplex" };
    const back = { source: "b", target: "a", capacity: "2M", duplex: "simplex" };
    expect(readNetwork({ links: [there, back] }, NODES, taken).refused).toEqual([]);
    expect(readNetwork({ links: [back] }, NODES, taken).refused).toHaveLength(1);
    expect(readNetwork(null, NODES, taken)).toEqual({ links: [], refused: [] });
  });

  test("is kept with its paths until something changes", () => {
    const keeper = new NetworkKeeper();
    const links = readNetwork(
      { links: [{ source: "a", target: "b", capacity: "1M" }] },
      NODES,
      new Set(),
    ).links;
    expect(keeper.update(["a", "b"], links)).toBe(true);
    const { paths } = keeper;
    expect(keeper.update(["a", "b"], [...links])).toBe(false);
    expect(keeper.paths).toBe(paths);
    expect(keeper.update(["a", "b", "c"], links)).toBe(true);
  });
});

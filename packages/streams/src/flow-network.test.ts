import { describe, expect, test } from "vitest";
import { StreamError } from "./errors.ts";
import { FlowNetwork, type FlowLink } from "./flow-network.ts";

const link = (over: Partial<FlowLink>): FlowLink => ({
  source: "a",
  target: "b",
  capacityBitsPerSecond: 10,
  ...over,
});

describe("FlowNetwork", () => {
  test("gives each direction of a full-duplex link a capacity of its own, and both of a half-duplex link one", () => {
    const full = new FlowNetwork(["a", "b"], [link({})]);
    expect([...full.capacities]).toEqual([10, 10]);
    const half = new FlowNetwork(["a", "b"], [link({ duplex: "half" })]);
    expect([...half.capacities]).toEqual([10]);
    expect(half.arcsFrom(0)[0]!.capacity).toBe(half.arcsFrom(1)[0]!.capacity);
  });

  test("has no way back over a simplex link", () => {
    const network = new FlowNetwork(["a", "b"], [link({ duplex: "simplex" })]);
    expect(network.arcsFrom(0)).toHaveLength(1);
    expect(network.arcsFrom(1)).toEqual([]);
  });

  test.each([
    ["an unknown end", ["a"], [link({})], "link a -> b must join known nodes, got b"],
    ["a loop", ["a"], [link({ target: "a" })], "link a -> a must join two nodes, got one"],
    ["a node twice", ["a", "a"], [], "node a must be named once, got it twice"],
    [
      "a link twice",
      ["a", "b"],
      [link({}), link({ duplex: "simplex" })],
      "link a -> b must be declared once, got it twice",
    ],
    [
      "a way back twice",
      ["a", "b"],
      [link({}), link({ source: "b", target: "a", duplex: "simplex" })],
      "link b -> a must be declared once",
    ],
    ...[0, -1, Number.NaN, Infinity, 2 ** 53].map(
      (capacity) =>
        [
          `a capacity of ${capacity}`,
          ["a", "b"],
          [link({ capacityBitsPerSecond: capacity })],
          `capacity of link a -> b must be above 0 and at most 2^53 - 1 bit/s, got ${capacity}`,
        ] as const,
    ),
  ] as const)("refuses %s", (_, nodes, links, message) => {
    const make = (): unknown => new FlowNetwork(nodes, links);
    expect(make).toThrow(StreamError);
    expect(make).toThrow(message);
  });
});

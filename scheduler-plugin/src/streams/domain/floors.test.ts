import { FlowNetwork, PathTable, type FlowLink } from "@isochrone/streams";
import { describe, expect, test } from "vitest";
import { beside, routed } from "./floors.ts";

const LINKS: readonly FlowLink[] = [
  { source: "a", target: "b", capacityBitsPerSecond: 10e6 },
  { source: "b", target: "c", capacityBitsPerSecond: 20e6, duplex: "half" },
];

function floor(from: string, to: string, bitsPerSecond: number): Parameters<typeof routed>[0][number] {
  return {
    id: `shop/web/${from}->${to}`,
    owner: { kind: "AppGroup", namespace: "shop", name: "web" },
    source: { node: from, address: "10.1.0.1", port: null },
    target: { node: to, address: "10.1.0.2", port: null },
    bitsPerSecond,
  };
}

function routesOf(...floors: Parameters<typeof routed>[0]): ReturnType<typeof routed> {
  const network = new FlowNetwork(["a", "b", "c", "d"], LINKS);
  return routed(floors, { network, paths: new PathTable(network) });
}

describe("floors", () => {
  test("go the shortest path, and directly where there is none", () => {
    expect(routesOf(floor("a", "c", 1e6), floor("a", "d", 1e6)).map(({ route }) => route)).toEqual([
      ["a", "b", "c"],
      ["a", "d"],
    ]);
  });

  test("leave each direction the rest of its capacity", () => {
    const floors = routesOf(floor("a", "c", 4e6), floor("c", "b", 1e6));
    expect(beside(LINKS, floors)).toEqual([
      { source: "a", target: "b", capacityBitsPerSecond: 6e6, duplex: "simplex" },
      { source: "b", target: "a", capacityBitsPerSecond: 10e6, duplex: "simplex" },
      { source: "b", target: "c", capacityBitsPerSecond: 15e6, duplex: "half" },
    ]);
    expect(beside(LINKS, [])).toBe(LINKS);
  });

  test("that are more than a link carries leave next to nothing", () => {
    expect(beside(LINKS, routesOf(floor("b", "c", 30e6)))[1]).toMatchObject({ capacityBitsPerSecond: 1 });
  });
});

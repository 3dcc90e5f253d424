import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FlowNetwork, type FlowLink } from "./flow-network.ts";
import { PathTable, widthOf } from "./paths.ts";

function allPaths(network: FlowNetwork, source: number, target: number): number[][] {
  const found: number[][] = [];
  const walk = (nodes: readonly number[]): void => {
    const last = nodes.at(-1)!;
    if (last === target) found.push([...nodes]);
    else
      for (const arc of network.arcsFrom(last)) if (!nodes.includes(arc.target)) walk([...nodes, arc.target]);
  };
  walk([source]);
  return found;
}

const networks = fc
  .record({
    nodes: fc.integer({ min: 2, max: 6 }),
    links: fc.uniqueArray(
      fc.tuple(
        fc.integer({ min: 0, max: 5 }),
        fc.integer({ min: 0, max: 5 }),
        fc.integer({ min: 1, max: 9 }),
      ),
      { selector: ([a, b]) => `${Math.min(a, b)} ${Math.max(a, b)}`, maxLength: 12 },
    ),
    duplex: fc.constantFrom("full" as const, "half" as const),
  })
  .map(({ nodes: count, links, duplex }) => {
    const names = Array.from({ length: count }, (_, at) => `n${at}`);
    const real: FlowLink[] = links
      .filter(([a, b]) => a !== b && a < count && b < count)
      .map(([a, b, capacityBitsPerSecond]) => ({
        source: names[a]!,
        target: names[b]!,
        capacityBitsPerSecond,
        duplex,
      }));
    return new FlowNetwork(names, real);
  });

describe("PathTable", () => {
  test("has the shortest simple paths of each pair, each once, with the hops between their nodes", () => {
    fc.assert(
      fc.property(networks, fc.integer({ min: 1, max: 5 }), (network, count) => {
        const table = new PathTable(network, count);
        const target = network.nodes.length - 1;
        const paths = table.between(0, target);
        const lengths = allPaths(network, 0, target)
          .map(({ length }) => length)
          .sort((a, b) => a - b);
        expect(paths.map(({ nodes }) => nodes.length)).toEqual(lengths.slice(0, count));
        expect(new Set(paths.map(({ nodes }) => nodes.join(" "))).size).toBe(paths.length);
        for (const { nodes, hops } of paths)
          for (const [at, hop] of hops.entries())
            expect(network.arcsFrom(nodes[at]!)).toContainEqual({ target: nodes[at + 1]!, capacity: hop });
      }),
    );
  });

  test("puts the wider of equally short paths first", () => {
    const links = ["b", "c", "d"].flatMap((via, at): FlowLink[] => [
      { source: "a", target: via, capacityBitsPerSecond: 10 * (at + 1) },
      { source: via, target: "e", capacityBitsPerSecond: 100 },
    ]);
    const network = new FlowNetwork(["a", "b", "c", "d", "e"], links);
    const widths = new PathTable(network, 3).between(0, 4).map((path) => widthOf(path, network.capacities));
    expect(widths).toEqual([30, 20, 10]);
  });

  test("leads from a node to itself without a hop, and nowhere without links", () => {
    const table = new PathTable(new FlowNetwork(["a", "b"], []));
    expect(table.between(0, 0)).toEqual([{ nodes: [0], hops: [] }]);
    expect(table.between(0, 1)).toEqual([]);
  });
});

import { FlowNetwork, LINK_SHARES, PathTable, type FlowLink } from "@isochrone/streams";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { admitted, beside, FLOOR_BOUNDS, routed } from "./floors.ts";

const LINKS: readonly FlowLink[] = [
  { source: "a", target: "b", capacityBitsPerSecond: 10e6 },
  { source: "b", target: "c", capacityBitsPerSecond: 20e6, duplex: "half" },
];

type Floor = Parameters<typeof routed>[0][number];

function floor(from: string, to: string, bitsPerSecond: number, namespace = "shop"): Floor {
  return {
    id: `${namespace}/web/${from}->${to}`,
    owner: { kind: "AppGroup", namespace, name: "web" },
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

  test("leave each direction what they don't take, without the rest for traffic that has no plan", () => {
    const floors = routesOf(floor("a", "c", 4e6), floor("c", "b", 1e6));
    expect(beside(LINKS, floors)).toEqual([
      { source: "a", target: "b", capacityBitsPerSecond: 5e6, duplex: "simplex" },
      { source: "b", target: "a", capacityBitsPerSecond: 10e6, duplex: "simplex" },
      { source: "b", target: "c", capacityBitsPerSecond: 13e6, duplex: "half" },
    ]);
    expect(beside(LINKS, [])).toBe(LINKS);
  });

  test("that are more than a link carries leave next to nothing", () => {
    expect(beside(LINKS, routesOf(floor("b", "c", 30e6)))[1]).toMatchObject({ capacityBitsPerSecond: 1 });
  });
});

describe("links", () => {
  const { namespace: namespaceShare, all: linkShare } = LINK_SHARES;

  test("admit floors up to a namespace's share, small ones first, and name those that are cut", () => {
    const floors = routesOf(floor("a", "b", 1e15), floor("a", "c", 1e6), floor("b", "a", 5e6));
    const { floors: kept, cut } = admitted(floors, LINKS);
    expect(kept.map(({ bitsPerSecond }) => bitsPerSecond)).toEqual([4e6, 1e6, 5e6]);
    expect(cut.map(({ id, bitsPerSecond }) => [id, bitsPerSecond])).toEqual([["shop/web/a->b", 1e15]]);
  });

  test("cut nothing where there is no link: its capacity is unknown", () => {
    const floors = routesOf(floor("a", "d", 1e12));
    expect(admitted(floors, LINKS)).toEqual({ floors, cut: [] });
  });

  test("never give floors more than their share, nor a namespace, and cut none below its equal part", () => {
    const nodes = ["a", "b", "c", "d"] as const;
    const node = fc.constantFrom(...nodes);
    const namespaces = ["one", "two", "three", "four"] as const;
    const duplex = fc.constantFrom("full" as const, "half" as const);
    const capacity = fc.integer({ min: 1e6, max: 1e10 });
    const rate = fc.oneof(
      fc.integer({ min: 1, max: 1e10 }),
      fc.constantFrom(1e12, FLOOR_BOUNDS.bitsPerSecond),
    );
    const problems = fc.record({
      links: fc.tuple(...nodes.slice(1).map(() => fc.tuple(capacity, duplex))),
      floors: fc.array(fc.tuple(node, node, rate, fc.constantFrom(...namespaces)), { maxLength: 40 }),
    });
    fc.assert(
      fc.property(problems, (drawn) => {
        const links = drawn.links.map(([capacityBitsPerSecond, kind], at): FlowLink => {
          return { source: nodes[at]!, target: nodes[at + 1]!, capacityBitsPerSecond, duplex: kind };
        });
        const network = new FlowNetwork([...nodes], links);
        const given = drawn.floors
          .filter(([from, to]) => from !== to)
          .map(([from, to, bitsPerSecond, namespace], at) => ({
            ...floor(from, to, bitsPerSecond, namespace),
            id: `${at}`,
          }));
        const declared = routed(given, { network, paths: new PathTable(network) });
        const { floors } = admitted(declared, links);
        const hops = links.flatMap((link) => directionsOf(link).map((pairs) => ({ link, pairs })));
        for (const { link, pairs } of hops) {
          const here = floors.filter(({ route }) => pairs.some((pair) => usesHop(route, pair)));
          const { capacityBitsPerSecond: bits } = link;
          expect(total(here)).toBeLessThanOrEqual(bits * linkShare * ALMOST);
          for (const namespace of namespaces) {
            const own = here.filter(({ owner }) => owner.namespace === namespace);
            expect(total(own)).toBeLessThanOrEqual(bits * namespaceShare * ALMOST);
          }
          const isOf = ({ source, duplex: kind }: FlowLink): boolean =>
            kind !== "simplex" || source === pairs[0]![0];
          const left = beside([link], floors).find(isOf);
          expect(left!.capacityBitsPerSecond + total(here)).toBeLessThanOrEqual(bits * ALMOST);
        }
        for (const before of declared) {
          const after = floors.find(({ id }) => id === before.id);
          const equal = Math.min(
            ...hops
              .filter(({ pairs }) => pairs.some((pair) => usesHop(before.route, pair)))
              .map(({ link }) => (link.capacityBitsPerSecond * linkShare) / namespaces.length),
          );
          const own = declared.filter(({ owner }) => owner.namespace === before.owner.namespace).length;
          // Rounding to whole bit/s takes one of them.
          expect(after?.bitsPerSecond ?? 0).toBeGreaterThanOrEqual(
            Math.floor(Math.min(before.bitsPerSecond, equal / own) / ALMOST),
          );
        }
      }),
    );
  });
});

const ALMOST = 1 + 1e-9;

function total(floors: readonly { readonly bitsPerSecond: number }[]): number {
  return floors.reduce((sum, { bitsPerSecond }) => sum + bitsPerSecond, 0);
}

type Hop = readonly [string, string];

function directionsOf({ source, target, duplex }: FlowLink): Hop[][] {
  const [there, back] = [[source, target] as const, [target, source] as const];
  return duplex === "half" ? [[there, back]] : [[there], [back]];
}

function usesHop(route: readonly string[], [from, to]: Hop): boolean {
  return route.some((node, at) => node === from && route[at + 1] === to);
}

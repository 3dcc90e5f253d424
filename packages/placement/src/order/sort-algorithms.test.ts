import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { findCycles } from "./cycles.ts";
import type { DependencyGraph } from "./dependency-graph.ts";
import { SORT_ALGORITHMS, sortTopologically } from "./sort-algorithms.ts";
import type { SortAlgorithm } from "./sort-algorithms.ts";
import { compareText } from "./text-order.ts";

/** `{P1: "P2 P3"}`: P1 depends on P2 and P3. Nodes without dependencies need no entry. */
function graphOf(edges: Readonly<Record<string, string>>): DependencyGraph {
  const lists = Object.entries(edges).map(([node, list]) => [node, list.split(" ").filter(Boolean)] as const);
  return new Map([
    ...lists.flatMap(([, list]) => list.map((node) => [node, [] as string[]] as const)),
    ...lists,
  ]);
}

const A1 = graphOf({ P1: "P2", P2: "P3" });

/** Online Boutique, from appgroup_test.go of the AppGroup controller. */
const ONLINE_BOUTIQUE = graphOf({
  P1: "P2 P3 P4 P6 P8 P9 P10",
  P2: "P11",
  P8: "P2 P3 P4 P5 P6 P7",
  P9: "P3",
});

const row = (text: string): string[] => text.split(", ");

const TABLES: readonly [string, DependencyGraph, Readonly<Record<SortAlgorithm, string>>][] = [
  [
    "A1 of 004, by hand",
    A1,
    {
      KahnSort: "P1, P2, P3",
      TarjanSort: "P1, P2, P3",
      ReverseKahn: "P3, P2, P1",
      ReverseTarjan: "P3, P2, P1",
      AlternateKahn: "P1, P3, P2",
      AlternateTarjan: "P1, P3, P2",
    },
  ],
  [
    "Online Boutique: the rows of Kahn are 004's table, those of Tarjan by hand from P1",
    ONLINE_BOUTIQUE,
    {
      KahnSort: "P1, P10, P9, P8, P7, P6, P5, P4, P3, P2, P11",
      AlternateKahn: "P1, P11, P10, P2, P9, P3, P8, P4, P7, P5, P6",
      ReverseKahn: "P11, P2, P3, P4, P5, P6, P7, P8, P9, P10, P1",
      TarjanSort: "P1, P10, P9, P8, P7, P5, P6, P4, P3, P2, P11",
      AlternateTarjan: "P1, P11, P10, P2, P9, P3, P8, P4, P7, P6, P5",
      ReverseTarjan: "P11, P2, P3, P4, P6, P5, P7, P8, P9, P10, P1",
    },
  ],
  [
    "two roots that share a dependency, and a node alone, by hand",
    // Kahn: the stack is [c, b, a]; a releases x (d waits for b); b releases d. Tarjan visits c, b (d), a (x)
    // and reverses the list.
    graphOf({ b: "d", a: "x d", c: "" }),
    {
      KahnSort: "a, x, b, d, c",
      TarjanSort: "a, x, b, d, c",
      ReverseKahn: "c, d, b, x, a",
      ReverseTarjan: "c, d, b, x, a",
      AlternateKahn: "a, c, x, d, b",
      AlternateTarjan: "a, c, x, d, b",
    },
  ],
];

describe("the six sort algorithms", () => {
  for (const [name, graph, rows] of TABLES) {
    it.each(SORT_ALGORITHMS)(`${name}: %s`, (algorithm) => {
      expect(sortTopologically(graph, algorithm)).toEqual(row(rows[algorithm]));
    });
  }

  it("004's own row of Tarjan is another valid order of the same graph, by another random walk", () => {
    const published = row("P1, P8, P7, P5, P4, P2, P11, P9, P10, P6, P3");
    expect(violations(ONLINE_BOUTIQUE, published)).toEqual([]);
    expect([...published].sort()).toEqual([...ONLINE_BOUTIQUE.keys()].sort());
  });

  it.each(SORT_ALGORITHMS)("%s gives nothing for a cycle, and for one behind a root", (algorithm) => {
    expect(sortTopologically(graphOf({ a: "b", b: "c", c: "a" }), algorithm)).toBe(null);
    expect(sortTopologically(graphOf({ root: "a", a: "b", b: "a" }), algorithm)).toBe(null);
    expect(sortTopologically(graphOf({ alone: "", a: "a" }), algorithm)).toBe(null);
  });

  it.each(SORT_ALGORITHMS)("%s takes a chain of 20,000, and none at all", (algorithm) => {
    const names = Array.from({ length: 20_000 }, (_, index) => `w${index}`);
    const chain = new Map(names.map((name, index) => [name, names.slice(index + 1, index + 2)]));
    expect(sortTopologically(chain, algorithm)).toHaveLength(20_000);
    expect(sortTopologically(new Map(), algorithm)).toEqual([]);
  });
});

function violations(graph: DependencyGraph, order: readonly string[]): string[] {
  const at = new Map(order.map((node, index) => [node, index]));
  return [...graph].flatMap(([node, list]) =>
    list
      .filter((dependency) => at.get(dependency)! <= at.get(node)!)
      .map((dependency) => `${dependency} before ${node}`),
  );
}

/** Random acyclic graphs: node i depends on later nodes only. Edges may repeat. */
const dag = fc
  .record({
    size: fc.integer({ min: 1, max: 30 }),
    edges: fc.array(fc.tuple(fc.nat(29), fc.nat(29)), { maxLength: 80 }),
    seed: fc.integer(),
  })
  .map(({ size, edges, seed }) => {
    const name = (index: number): string => `n${(index * 7 + Math.abs(seed % 31)) % 31}`;
    const graph = new Map<string, string[]>(Array.from({ length: size }, (_, index) => [name(index), []]));
    for (const [a, b] of edges) {
      if (a < b && b < size) graph.get(name(a))!.push(name(b));
    }
    return graph;
  });

const anyGraph = fc.array(fc.tuple(fc.nat(12), fc.nat(12)), { maxLength: 40 }).map((edges) => {
  const graph = new Map<string, string[]>(Array.from({ length: 13 }, (_, index) => [`n${index}`, []]));
  for (const [a, b] of edges) graph.get(`n${a}`)!.push(`n${b}`);
  return graph;
});

describe("for every graph", () => {
  it("all six are permutations; Kahn and Tarjan put nodes before their dependencies, their reverses behind", () => {
    fc.assert(
      fc.property(dag, (graph) => {
        for (const algorithm of SORT_ALGORITHMS) {
          const order = sortTopologically(graph, algorithm)!;
          expect([...order].sort()).toEqual([...graph.keys()].sort());
        }
        for (const algorithm of ["KahnSort", "TarjanSort"] as const)
          expect(violations(graph, sortTopologically(graph, algorithm)!)).toEqual([]);
        for (const algorithm of ["ReverseKahn", "ReverseTarjan"] as const)
          expect(violations(graph, sortTopologically(graph, algorithm)!.toReversed())).toEqual([]);
      }),
    );
  });

  it("the order in which nodes are listed does not matter", () => {
    const shuffled = dag.chain((graph) =>
      fc.tuple(
        fc.constant(graph),
        fc.shuffledSubarray([...graph], { minLength: graph.size }).map((entries) => new Map(entries)),
      ),
    );
    fc.assert(
      fc.property(shuffled, ([graph, other]) => {
        for (const algorithm of SORT_ALGORITHMS)
          expect(sortTopologically(other, algorithm)).toEqual(sortTopologically(graph, algorithm));
      }),
    );
  });

  it("Kahn's is one that the Go code gives when its map happens to walk the roots from the largest name to the smallest", () => {
    fc.assert(
      fc.property(dag, (graph) => {
        expect(sortTopologically(graph, "KahnSort")).toEqual(goKahn(graph));
      }),
    );
  });

  it("Tarjan's is one that the Go code gives when its map happens to walk the roots first, from the largest name", () => {
    fc.assert(
      fc.property(dag, (graph) => {
        expect(sortTopologically(graph, "TarjanSort")).toEqual(goTarjan(graph));
      }),
    );
  });

  it("either all six sort it or a cycle is found, and the cycle is one", () => {
    fc.assert(
      fc.property(anyGraph, (graph) => {
        const cycles = findCycles(graph, 5);
        for (const algorithm of SORT_ALGORITHMS)
          expect(sortTopologically(graph, algorithm) === null).toBe(cycles.length > 0);
        for (const cycle of cycles) {
          const next = [...cycle.slice(1), cycle[0]!];
          expect(cycle.filter((node, at) => !graph.get(node)!.includes(next[at]!))).toEqual([]);
          expect(new Set(cycle).size).toBe(cycle.length);
        }
      }),
      { numRuns: 300 },
    );
  });
});

/** KahnSort of util/appgroup.go, iterating its map from the largest to the smallest name. */
function goKahn(tree: DependencyGraph): string[] {
  const elements = [...tree.keys()].sort(compareText).reverse();
  const inDegree = new Map(elements.map((element) => [element, 0]));
  for (const element of elements)
    for (const child of tree.get(element)!) inDegree.set(child, inDegree.get(child)! + 1);
  const stack = elements.filter((element) => inDegree.get(element) === 0);
  const sorted: string[] = [];
  while (stack.length > 0) {
    const node = stack.pop()!;
    for (const child of tree.get(node)!) {
      inDegree.set(child, inDegree.get(child)! - 1);
      if (inDegree.get(child) === 0) stack.push(child);
    }
    sorted.push(node);
  }
  return sorted;
}

/** TarjanSort of util/appgroup.go, iterating its map roots first, each group from the largest name. */
function goTarjan(tree: DependencyGraph): string[] {
  const listed = new Set([...tree.values()].flat());
  const names = [...tree.keys()].sort(compareText).reverse();
  const elements = [
    ...names.filter((name) => !listed.has(name)),
    ...names.filter((name) => listed.has(name)),
  ];
  const sorted: string[] = [];
  let index = elements.length;
  const visited = new Set<string>();
  const visit = (node: string): void => {
    if (visited.has(node)) return;
    for (const child of tree.get(node)!) visit(child);
    visited.add(node);
    sorted[--index] = node;
  };
  for (const element of elements) visit(element);
  return sorted;
}

describe("cycles", () => {
  it.each([
    ["a node on itself", { a: "a" }, [["a"]]],
    ["three, from the smallest name", { c: "a", a: "b", b: "c" }, [["a", "b", "c"]]],
    ["the short one of two ways round", { a: "x b", x: "y", y: "b", b: "a" }, [["a", "b"]]],
    [
      "two apart",
      { a: "b", b: "a", p: "q", q: "p" },
      [
        ["a", "b"],
        ["p", "q"],
      ],
    ],
    ["not what leads to one, nor what follows", { in: "a", a: "b", b: "a out" }, [["a", "b"]]],
    ["none", { a: "b c", b: "c" }, []],
  ])("%s", (_, edges, expected) => {
    expect(findCycles(graphOf(edges as unknown as Record<string, string>), 5)).toEqual(expected);
  });

  it("stops at the limit, and takes one of 20,000 nodes", () => {
    const pairs = Object.fromEntries(
      Array.from({ length: 8 }, (_, index) => [
        [`a${index}`, `b${index}`],
        [`b${index}`, `a${index}`],
      ]).flat(),
    ) as Record<string, string>;
    expect(findCycles(graphOf(pairs), 5)).toHaveLength(5);
    const names = Array.from({ length: 20_000 }, (_, index) => `w${index}`);
    const ring = new Map(names.map((name, index) => [name, [names[(index + 1) % names.length]!]]));
    expect(findCycles(ring, 5).map(({ length }) => length)).toEqual([20_000]);
  });
});

describe("text order", () => {
  it("is that of UTF-8 bytes, as Go's", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.string({ unit: "grapheme" }), (a, b) => {
        expect(Math.sign(compareText(a, b))).toBe(Math.sign(Buffer.compare(Buffer.from(a), Buffer.from(b))));
      }),
    );
    expect(["p2", "p10", "P1", "\u{1f600}", "\uffee", "\u{1f601}"].sort(compareText)).toEqual([
      "P1",
      "p10",
      "p2",
      "\uffee",
      "\u{1f600}",
      "\u{1f601}",
    ]);
  });
});

import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { PlacementProblem } from "../scoring/problem.ts";
import { ResourceNetwork } from "./resource-network.ts";
import { channel, links, node, problem, workload } from "../testing/problems.ts";

const normalized = new ResourceNetwork("normalized");
type Amounts = readonly [cpuMillicores: number, memoryBytes: number];

function alone(
  use: Amounts,
  nodes: readonly Amounts[],
  sent: readonly Amounts[] = [],
  fields: Partial<PlacementProblem> = {},
): PlacementProblem {
  const assumedUse = new Map(
    sent.map(([cpuMillicores, memoryBytes], row) => [`n${row}`, { cpuMillicores, memoryBytes }]),
  );
  return problem(
    nodes.map(([cpu, memory], row) => node(`n${row}`, cpu, memory)),
    [],
    [workload("p", { cpu: use[0], memory: use[1] }, {})],
    [],
    { assumedUse, ...fields },
  );
}

function partsOf(
  placed: PlacementProblem,
  strategy = normalized,
): Record<"cpu" | "memory" | "resource", number[]> {
  const { parts } = strategy.score(placed);
  const rounded = (name: string): number[] => [...parts[name]!].map((value) => Number(value.toFixed(6)));
  return { cpu: rounded("cpu"), memory: rounded("memory"), resource: rounded("resource") };
}

describe("where the network takes no side, nodes are held against their fair share", () => {
  // CPU: 300 + 100 assumed and 100 of this pod, of 4,000: 1/8; memory 500 + 100 of 8,000 MB: 1/16. One such
  // pod per node adds 2/5 to both: fair shares 1.4/8 and 1.4/16.
  test("worked by hand", () => {
    const nodes = [
      [1_000, 4e9],
      [3_000, 4e9],
    ] as const;
    const sent = [
      [300, 4e8],
      [100, 0],
    ] as const;
    expect(partsOf(alone([100, 1e8], nodes, sent))).toEqual({
      cpu: [30.434783, 72.413793],
      memory: [41.176471, 77.777778],
      resource: [30.434783, 72.413793],
    });
  });

  test("a node that has its fair share of everything has nearly 50", () => {
    const [only] = partsOf(alone([1, 1e6], [[4_000, 4e9]], [[999, 999e6]])).resource;
    expect(only).toBeCloseTo(50, 0);
  });

  // The memory share is a thousandth of the CPU share; it counts as a tenth.
  test("a resource of which next to nothing is on its way doesn't outvote the other", () => {
    const nodes = [
      [4_000, 4e9],
      [4_000, 4e9],
    ] as const;
    const sent = [
      [1_000, 2e6],
      [1_100, 0],
    ] as const;
    const [n0, n1] = partsOf(alone([1, 1e3], nodes, sent)).resource;
    expect(n0).toBeGreaterThan(n1!);
  });

  test("a node that has nothing free keeps nothing", () => {
    const { resource } = partsOf(
      alone(
        [100, 1e8],
        [
          [0, 4e9],
          [-50, 4e9],
          [1_000, 4e9],
        ],
      ),
    );
    expect(resource.slice(0, 2)).toEqual([0, 0]);
    expect(resource[2]).toBeGreaterThan(0);
  });

  test("so they are where delta is 0", () => {
    const strategy = new ResourceNetwork("normalized", { alpha: 0.5, beta: 0.5, gamma: 1, delta: 0 });
    const talking = problem(
      [node("a", 1_000, 4e9), node("b", 3_000, 4e9)],
      links(["a", "b", 10]),
      [
        workload("p", { cpu: 100, memory: 1e8 }, {}),
        workload("q", { cpu: 100, memory: 1e8 }, { "q-1": "a" }),
      ],
      [channel("p", "q", 100)],
    );
    // 100 of 4,000 plus two such pods: a fair share of 3/40.
    expect(partsOf(talking, strategy).cpu).toEqual([42.857143, 69.230769]);
    expect(partsOf(talking).cpu).toEqual([90.909091, 96.774194]);
  });
});

test("alpha and beta weigh CPU and memory: that of weight 0 takes no side", () => {
  const nodes = [
    [1_000, 9e9],
    [3_000, 1e9],
  ] as const;
  const weighed = (alpha: number): number[] => {
    const strategy = new ResourceNetwork("normalized", { alpha, beta: 1 - alpha, gamma: 0.5, delta: 0.5 });
    return [...strategy.score(alone([100, 1e8], nodes)).score];
  };
  expect(weighed(1)).toEqual([25, 75]);
  expect(weighed(0)).toEqual([75, 25]);
});

const amount = fc.integer({ min: 1, max: 1e6 });
const drawn = fc.record({
  use: fc.tuple(amount, amount),
  nodes: fc.array(fc.tuple(amount, amount), { minLength: 2, maxLength: 5 }),
  sent: fc.array(fc.tuple(fc.nat(1e6), fc.nat(1e6)), { minLength: 2, maxLength: 5 }),
});

test("units don't matter: each resource may be counted in other ones", () => {
  fc.assert(
    fc.property(drawn, fc.integer({ min: 0, max: 30 }), ({ use, nodes, sent }, doublings) => {
      // Scaling by powers of two is exact.
      const inOther = ([cpu, memory]: Amounts): Amounts => [cpu, memory * 2 ** doublings];
      const known = sent.slice(0, nodes.length);
      const before = normalized.score(alone(use, nodes, known));
      const after = normalized.score(alone(inOther(use), nodes.map(inOther), known.map(inOther)));
      expect([...after.score]).toEqual([...before.score]);
    }),
  );
});

test("more on its way to a node never makes it better than a node to which as much goes as before", () => {
  fc.assert(
    fc.property(drawn, amount, amount, ({ use, nodes: [one], sent: [onBoth] }, cpu, memory) => {
      const more = [onBoth![0] + cpu, onBoth![1] + memory] as const;
      const [first, second] = normalized.score(alone(use, [one!, one!], [more, onBoth!])).score;
      expect(first).toBeLessThanOrEqual(second!);
    }),
  );
});

test("of two nodes to which as much is on its way, the one with more free is never worse", () => {
  fc.assert(
    fc.property(drawn, amount, amount, ({ use, nodes: [one], sent: [onBoth] }, cpu, memory) => {
      const larger = [one![0] + cpu, one![1] + memory] as const;
      const [first, second] = normalized.score(alone(use, [one!, larger], [onBoth!, onBoth!])).score;
      expect(first).toBeLessThanOrEqual(second!);
    }),
  );
});

test("the order in which pods were sent out changes nothing", () => {
  fc.assert(
    fc.property(drawn, ({ use, nodes, sent }) => {
      const before = alone(use, nodes, sent.slice(0, nodes.length));
      const after = { ...before, assumedUse: new Map([...before.assumedUse!].reverse()) };
      expect([...normalized.score(after).score]).toEqual([...normalized.score(before).score]);
    }),
  );
});

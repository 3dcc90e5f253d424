import { describe, expect, it } from "vitest";
import { CoordinateModel, fitCoordinates } from "./index.ts";
import type { CoordinateInput } from "./index.ts";
import { evaluate, probed, regions } from "./testing/phantom.ts";
import type { Phantom } from "./testing/phantom.ts";
import type { CoordinateNode } from "./types.ts";

type Row = readonly [source: number, target: number, rttMs: number, count?: number];

const nodesOf = (...names: string[]): CoordinateNode[] =>
  names.map((name) => ({ name, zone: null, region: null }));

function input(nodes: readonly CoordinateNode[], rows: readonly Row[]): CoordinateInput {
  return {
    nodes,
    samples: {
      source: rows.map(([source]) => source),
      target: rows.map(([, target]) => target),
      rttMs: rows.map(([, , rttMs]) => rttMs),
      count: rows.map(([, , , count = 10]) => count),
    },
  };
}

const ABC = nodesOf("a", "b", "c");
const TRIANGLE: Row[] = [
  [0, 1, 10],
  [1, 2, 20],
  [2, 0, 25],
];

describe("samples that can't be true", () => {
  it("are counted by reason and change nothing", () => {
    const bad: Row[] = [
      [0, 1, Number.NaN],
      [0, 1, Infinity],
      [0, 1, -3],
      [0, 1, 0],
      [0, 1, 5, 0],
      [0, 1, 5, Number.NaN],
      [1, 1, 5],
      [0, 3, 5],
      [-1, 1, 5],
      [0.5, 1, 5],
    ];
    const clean = fitCoordinates(input(ABC, TRIANGLE), { seed: 1 });
    const model = fitCoordinates(input(ABC, [...bad, ...TRIANGLE]), { seed: 1 });
    expect(model.quality.rejected).toEqual({ unknownNode: 3, self: 1, invalidRtt: 4, invalidCount: 2 });
    expect({ ...model.toState(), quality: null }).toEqual({ ...clean.toState(), quality: null });
  });

  it("don't make a wild spread count", () => {
    const rows = input(ABC, TRIANGLE);
    const spreadMs = [Number.NaN, Infinity, -1];
    const model = fitCoordinates({ ...rows, samples: { ...rows.samples, spreadMs } }, { seed: 1 });
    expect(model.estimate(0, 1)!.rttMs).toBeCloseTo(10, 6);
  });
});

describe("a model", () => {
  it("answers both directions of a measured triangle", () => {
    const model = fitCoordinates(input(ABC, TRIANGLE), { seed: 1 });
    expect(model.estimate(0, 1)!.rttMs).toBeCloseTo(10, 6);
    expect(model.estimate(2, 0)!.rttMs).toBeCloseTo(25, 6);
    const back = model.estimate(1, 0)!;
    expect(back.rttMs).toBeGreaterThan(8);
    expect(back.rttMs).toBeLessThan(12);
  });

  it("keeps the directions of a pair apart when both were measured", () => {
    const model = fitCoordinates(input(ABC, [...TRIANGLE, [1, 0, 30]]), { seed: 1 });
    expect(model.estimate(0, 1)!.rttMs).toBeCloseTo(10, 6);
    expect(model.estimate(1, 0)!.rttMs).toBeCloseTo(30, 6);
  });

  it("merges rows of one pair by their counts", () => {
    const rows: Row[] = [
      [0, 1, 10, 30],
      [0, 1, 40, 10],
    ];
    const model = fitCoordinates(input(ABC, rows), { seed: 1 });
    expect(model.estimate(0, 1)!.rttMs).toBeCloseTo(10 ** 0.75 * 40 ** 0.25, 6);
  });

  it("says nothing across a gap, of a node without samples, of an unknown index", () => {
    const model = fitCoordinates(
      input(nodesOf("a", "b", "c", "d", "e"), [
        [0, 1, 10],
        [2, 3, 20],
      ]),
      { seed: 1 },
    );
    expect(model.quality).toMatchObject({ components: 2, isolatedNodes: 1, pairs: 2 });
    expect(model.estimate(0, 1)!.rttMs).toBeCloseTo(10, 6);
    expect(model.estimate(2, 3)!.rttMs).toBeCloseTo(20, 6);
    for (const [a, b] of [
      [0, 2],
      [1, 4],
      [4, 4],
      [0, 5],
      [-1, 0],
      [0, Number.NaN],
    ] as const)
      expect(model.estimate(a, b)).toBeNull();
    expect(model.coordinateOf(4)).toBeNull();
    expect(model.coordinateOf(9)).toBeNull();
  });

  it.each([
    ["no nodes", []],
    ["a single node", nodesOf("a")],
    ["nodes without samples", ABC],
  ])("of %s estimates nothing", (_, nodes) => {
    const model = fitCoordinates(input(nodes, []), { seed: 1 });
    expect(model.names).toHaveLength(nodes.length);
    expect(model.estimate(0, 0)).toBeNull();
    expect(model.quality).toMatchObject({ pairs: 0, components: 0, heldOutMedianRelativeError: null });
    expect(fitCoordinates(input(nodes, []), { seed: 1, previous: model }).quality.pairs).toBe(0);
  });

  it("is 0 from a node to itself", () => {
    const model = fitCoordinates(input(ABC, TRIANGLE), { seed: 1 });
    expect(model.estimate(1, 1)).toEqual({ rttMs: 0, errorMs: 0, lowMs: 0, highMs: 0 });
  });

  it("works with times of any size", () => {
    for (const unit of [1e-3, 1, 1e3]) {
      const model = fitCoordinates(
        input(
          ABC,
          TRIANGLE.map(([a, b, rttMs]): Row => [a, b, rttMs * unit]),
        ),
        { seed: 1 },
      );
      expect(model.estimate(0, 1)!.rttMs / unit).toBeCloseTo(10, 6);
    }
  });

  it("stands finite before times that differ by 12 orders of magnitude", () => {
    const phantom: Phantom = {
      nodes: nodesOf(...Array.from({ length: 20 }, (_, index) => `n${index}`)),
      rttMs: (a, b) => 10 ** (((a * 7 + b * 7) % 13) - 6),
    };
    const model = fitCoordinates(probed(phantom, { peers: 6, count: 5, seed: 1 }), { seed: 1 });
    for (let a = 0; a < 20; a++) {
      for (let b = 0; b < 20; b++) {
        const { rttMs, errorMs, lowMs, highMs } = model.estimate(a, b)!;
        for (const value of [rttMs, errorMs, lowMs, highMs]) expect(Number.isFinite(value)).toBe(true);
        expect(lowMs).toBeLessThanOrEqual(rttMs);
        expect(highMs).toBeGreaterThanOrEqual(rttMs);
      }
    }
  });
});

describe("the public coordinate", () => {
  it("gives an RTT by distance plus heights", () => {
    const phantom = regions(90, 1, false);
    const rows = probed(phantom, { peers: 10, count: 20, seed: 1 });
    const model = fitCoordinates(rows, { seed: 1 });
    const errors: number[] = [];
    for (let a = 0; a < 90; a++) {
      for (let b = 0; b < a; b++) {
        const truth = phantom.rttMs(a, b);
        errors.push(Math.abs(byCoordinates(model, a, b) - truth) / truth);
      }
    }
    errors.sort((x, y) => x - y);
    expect(errors[errors.length >> 1]).toBeLessThan(0.15);
  });

  function byCoordinates(model: CoordinateModel, a: number, b: number): number {
    const from = model.coordinateOf(a)!;
    const to = model.coordinateOf(b)!;
    const height = from.length - 1;
    const distance = Math.hypot(...from.slice(0, height).map((x, k) => x - to[k]!));
    return distance + from[height]! + to[height]!;
  }
});

describe("a fit", () => {
  const phantom = regions(60, 1, true);
  const rows = probed(phantom, { peers: 8, count: 20, noise: 0.1, seed: 1 });

  it("is the same for the same seed, whatever the order of the samples", () => {
    const once = fitCoordinates(rows, { seed: 1 });
    const order = Array.from(rows.samples.source, (_, row) => row).reverse();
    const pick = (column: ArrayLike<number>): number[] => order.map((row) => column[row]!);
    const { source, target, rttMs, count, spreadMs } = rows.samples;
    const samples = {
      source: pick(source),
      target: pick(target),
      rttMs: pick(rttMs),
      count: pick(count),
      spreadMs: pick(spreadMs!),
    };
    expect(fitCoordinates({ nodes: rows.nodes, samples }, { seed: 1 }).toState()).toEqual(once.toState());
  });

  it("is another one, about as good, for another seed", () => {
    const one = evaluate(phantom, fitCoordinates(rows, { seed: 1 }), rows);
    const other = evaluate(phantom, fitCoordinates(rows, { seed: 2 }), rows);
    expect(other.median).not.toBe(one.median);
    expect(other.median).toBeLessThan(1.3 * one.median);
  });

  it("travels between threads and goes on from there", () => {
    const model = fitCoordinates(rows, { seed: 1 });
    const copy = CoordinateModel.fromState(structuredClone(model.toState()));
    expect(copy.estimate(3, 17)).toEqual(model.estimate(3, 17));
    expect(copy.indexOf("n17")).toBe(17);
    expect(copy.indexOf("nobody")).toBe(-1);
    const next = fitCoordinates(rows, { seed: 1, previous: copy });
    expect(next.toState()).toEqual(fitCoordinates(rows, { seed: 1, previous: model }).toState());
  });

  it("leaves its input and the model before as they were", () => {
    const model = fitCoordinates(rows, { seed: 1 });
    const before = structuredClone({ rows, state: model.toState() });
    fitCoordinates(rows, { seed: 1, previous: model });
    expect({ rows, state: model.toState() }).toEqual(before);
  });
});

describe("a warm round", () => {
  const phantom = regions(100, 3, false);
  const window = (seed: number): CoordinateInput => probed(phantom, { peers: 10, count: 20, seed });

  it("costs a fraction of a cold one and is not worse", () => {
    let model = fitCoordinates(window(0), { seed: 1 });
    const coldSteps = model.quality.steps;
    for (let round = 1; round <= 5; round++)
      model = fitCoordinates(window(round), { seed: 1, previous: model });
    expect(model.quality.steps).toBeLessThan(0.2 * coldSteps);
    const warm = evaluate(phantom, model, window(5));
    const cold = evaluate(phantom, fitCoordinates(window(5), { seed: 1 }), window(5));
    expect(warm.median).toBeLessThan(1.1 * cold.median);
    expect(warm.p90).toBeLessThan(1.1 * cold.p90);
    expect(warm.coverage).toBeGreaterThan(0.85);
    expect(warm.coverage).toBeLessThan(0.95);
  });

  it("takes in nodes that joined and forgets those that left", () => {
    const without = (gone: number[]): Phantom => {
      const kept = phantom.nodes.map((_, index) => index).filter((index) => !gone.includes(index));
      return {
        nodes: kept.map((index) => phantom.nodes[index]!),
        rttMs: (a, b) => phantom.rttMs(kept[a]!, kept[b]!),
      };
    };
    const before = without([1, 2, 3, 4, 5]);
    const after = without([40, 41, 42]);
    const model = fitCoordinates(probed(before, { peers: 10, count: 20, seed: 1 }), { seed: 1 });
    const rows = probed(after, { peers: 10, count: 20, seed: 2 });
    const next = fitCoordinates(rows, { seed: 1, previous: model });
    expect(next.names).toEqual(after.nodes.map(({ name }) => name));
    expect(next.toState().round).toBe(1);
    const joined = [1, 2, 3, 4, 5].map((index) => next.indexOf(`n${index}`));
    const errors = joined.flatMap((a) =>
      after.nodes.flatMap((_, b) => {
        const truth = after.rttMs(a, b);
        return a === b ? [] : [Math.abs(next.estimate(a, b)!.rttMs - truth) / truth];
      }),
    );
    errors.sort((x, y) => x - y);
    expect(errors[errors.length >> 1]).toBeLessThan(0.12);
  });

  it("starts anew when it knows less than half of the nodes", () => {
    const model = fitCoordinates(window(0), { seed: 1 });
    const renamed = phantom.nodes.map((node, index) => (index < 60 ? { ...node, name: `x${index}` } : node));
    const next = fitCoordinates({ ...window(0), nodes: renamed }, { seed: 1, previous: model });
    expect(next.toState().round).toBe(0);
  });

  it("survives a window without samples", () => {
    const model = fitCoordinates(window(0), { seed: 1 });
    const silent = fitCoordinates(input(phantom.nodes, []), { seed: 1, previous: model });
    expect(silent.estimate(0, 1)).toBeNull();
    const next = fitCoordinates(window(1), { seed: 1, previous: silent });
    expect(evaluate(phantom, next, window(1)).median).toBeLessThan(0.06);
  });
});

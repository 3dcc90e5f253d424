import { clusterColumnsOf, type ClusterGraphSnapshot, type Link } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { CELL, gridOf, KIND_BITS, MARK } from "./grid.ts";
import { cellWords } from "../network/matrix/matrix-words.ts";
import { pixelsOf } from "./pixels.ts";
import { summaryOf, worstPairs } from "./summary.ts";
import { clusterViewOf, costBetween, findPair, PAIR, rowOf } from "./cluster-view.ts";
import { NOTHING, rgbOf, rgbSteps, SCARCE } from "./scale.ts";

const node = (name: string, region: string | null, zone: string | null, coordinate: number[] | null = null) =>
  ({ name, region, zone, coordinate }) as unknown as ClusterGraphSnapshot["nodes"][number];

function link(source: string, target: string, p50: number | null, more: Partial<Link> = {}): Link {
  return {
    source,
    target,
    method: "udp_rr",
    ipFamily: 4,
    rttMs: { p50, p90: null, p99: null, mean: p50, count: 1 },
    lossRatio: p50 === null ? 1 : 0,
    jitterMs: null,
    bandwidthBitsPerSecond: { capacity: null, achieved: null, available: null },
    costMs: p50,
    errorMs: null,
    origin: "measured",
    provisional: false,
    ageSeconds: 1,
    observedAt: null,
    ...more,
  };
}

const graph = (links: Link[]): ClusterGraphSnapshot => ({
  version: 7,
  observedAt: "2026-01-01T00:00:00Z",
  windowSeconds: 30,
  costMethods: ["icmp", "udp_rr"],
  coordinates: {
    fittedAt: "2026-01-01T00:00:00Z",
    ageSeconds: 1,
    pairs: 1,
    medianRelativeError: null,
    p90RelativeError: null,
  },
  nodes: [
    node("b-10", "east", "z2", [3, 4, 1]),
    node("b-2", "east", "z2"),
    node("a-1", "east", "z1", [0, 0, 2]),
    node("lost", null, null),
  ],
  links,
});

const viewOf = (of: ClusterGraphSnapshot) => clusterViewOf(clusterColumnsOf(of));

describe("the cluster as the page sees it", () => {
  test("has its nodes by region, zone and number, and areas of those that belong together", () => {
    const { nodes, areas } = viewOf(graph([]));
    expect(nodes.map(({ name }) => name)).toEqual(["a-1", "b-2", "b-10", "lost"]);
    expect(areas.map(({ zone, begin, end }) => [zone, begin, end])).toEqual([
      ["z1", 0, 1],
      ["z2", 1, 3],
      ["no zone", 3, 4],
    ]);
  });

  test("believes one link per pair: the preferred method that has a figure", () => {
    const { pairs } = viewOf(
      graph([
        link("a-1", "b-2", 5),
        link("a-1", "b-2", 6, { method: "icmp" }),
        link("b-2", "a-1", null, { method: "icmp" }),
        link("b-2", "a-1", 9),
        link("a-1", "a-1", 1),
        link("a-1", "stranger", 1),
      ]),
    );
    expect(pairs.column).toHaveLength(2);
    expect(pairs.figures.p50[findPair(pairs, 0, 1)]).toBe(6);
    expect(pairs.figures.p50[findPair(pairs, 1, 0)]).toBe(9);
    expect(findPair(pairs, 1, 2)).toBe(-1);
    expect([rowOf(pairs, 0), rowOf(pairs, 1)]).toEqual([0, 1]);
  });

  test("knows what a way costs: measured, by coordinates, unreachable or unknown", () => {
    const cost = costBetween(viewOf(graph([link("a-1", "b-2", 5), link("b-2", "a-1", null)])));
    expect([cost("a-1", "b-2"), cost("a-1", "b-10"), cost("b-2", "a-1"), cost("a-1", "a-1")]).toEqual([
      5,
      8,
      Infinity,
      0,
    ]);
    expect([cost("a-1", "lost"), cost("a-1", "stranger")]).toEqual([Number.NaN, Number.NaN]);
  });
});

describe("the matrix", () => {
  const links = [
    link("a-1", "b-2", 400),
    link("b-2", "a-1", null),
    link("b-10", "b-2", 2, { lossRatio: 0.1, ageSeconds: 1000, provisional: true }),
  ];
  const view = viewOf(graph(links));

  test("tells measured from estimated, silent and unknown, and marks losses and age", () => {
    const { size, cells, values } = gridOf(view, "p50", "nodes");
    const at = (row: number, column: number): number => cells[row * size + column]!;
    expect([at(0, 1), at(0, 2), at(1, 0) & KIND_BITS, at(0, 3), at(1, 1)]).toEqual([
      CELL.measured,
      CELL.estimated,
      CELL.dead,
      CELL.nothing,
      CELL.self,
    ]);
    expect(values[2]).toBe(8);
    expect(at(2, 1)).toBe(CELL.measured | MARK.lossy | MARK.stale | MARK.provisional);
    expect(view.pairs.flags[findPair(view.pairs, 2, 1)]! & PAIR.stale).toBe(PAIR.stale);
  });

  test("of zones has the medians of their pairs", () => {
    const { size, labels, cells, values, bands } = gridOf(view, "p50", "zones");
    expect([size, labels, bands.map(({ label }) => label)]).toEqual([
      3,
      ["z1", "z2", "no zone"],
      ["east", "no region"],
    ]);
    expect([values[1], values[4]]).toEqual([400, 2]);
    expect([cells[1]! & KIND_BITS, cells[3]! & KIND_BITS]).toEqual([CELL.measured, CELL.dead]);
    expect(gridOf(view, "loss", "regions").values[0]).toBeCloseTo(0.05);
  });

  test("of zones takes a declared cost for an estimate, and not where something is measured", () => {
    const declared = { origin: "declared", lossRatio: null, costMs: 30 } as const;
    const cellOf = (links: Link[]): readonly [number, number] => {
      const { cells, values } = gridOf(viewOf(graph(links)), "p50", "zones");
      return [cells[1]!, values[1]!];
    };
    expect(cellOf([link("a-1", "b-2", null, declared)])).toEqual([CELL.estimated, 30]);
    expect(cellOf([link("a-1", "b-2", null, declared), link("a-1", "b-10", 4)])).toEqual([CELL.measured, 4]);
  });

  test("of zones has an estimate where nobody measures, and none of what no coordinate tells", () => {
    const { size, cells, values } = gridOf(viewOf(graph([])), "p50", "zones");
    // z1 has a-1 at 0, 0 and 2 above; of z2 only b-10 has a coordinate, at 3, 4 and 1 above.
    expect([values[1], cells[1]]).toEqual([8, CELL.estimated]);
    expect(cells[0]).toBe(CELL.nothing);
    expect(cells[2]).toBe(CELL.nothing);
    expect(gridOf(viewOf(graph([])), "loss", "zones").cells).toEqual(new Uint8Array(size * size));
  });

  test("is written over a grid that nobody needs any more, of whatever was in it", () => {
    const spent = gridOf(view, "p99", "nodes");
    const fresh = gridOf(view, "p50", "nodes");
    const reused = gridOf(view, "p50", "nodes", spent);
    expect(reused.values).toBe(spent.values);
    expect([reused.values, reused.cells]).toEqual([fresh.values, fresh.cells]);
    const other = gridOf(viewOf({ ...graph([]), nodes: [] }), "p50", "nodes", spent);
    expect(other.values).not.toBe(spent.values);
  });

  test("has the last step where a link is slow", () => {
    const pixels = pixelsOf(gridOf(view, "p50", "nodes"), "light");
    expect([...pixels.subarray(4, 8)]).toEqual([...rgbSteps("light").at(-1)!, 255]);
    expect(pixels).toHaveLength(4 * 4 * 4);
  });

  test("of nothing is empty", () => {
    const none = viewOf({ ...graph([]), nodes: [] });
    expect(gridOf(none, "p50", "nodes").size).toBe(0);
    expect(gridOf(none, "p50", "zones").size).toBe(0);
  });
});

describe("percentiles of too few samples", () => {
  const few = { p50: 2.1, p90: 3, p99: null, mean: 2.2, count: 40 };
  const view = viewOf(
    graph([
      link("a-1", "b-10", 2.1, { rttMs: few }),
      link("b-10", "a-1", null),
      link("a-1", "b-2", null, { origin: "estimated", lossRatio: null, costMs: 9 }),
    ]),
  );
  const stateOf = (quantity: "p50" | "p90" | "p99" | "loss", row: number, column: number) => {
    const { size, cells, values } = gridOf(view, quantity, "nodes");
    return [cells[row * size + column]! & KIND_BITS, values[row * size + column]];
  };

  test("are shown as such, and never as the estimate of the median", () => {
    expect(stateOf("p50", 0, 2)).toEqual([CELL.measured, Math.fround(2.1)]);
    expect(stateOf("p90", 0, 2)).toEqual([CELL.measured, 3]);
    expect(stateOf("p99", 0, 2)).toEqual([CELL.scarce, Number.NaN]);
    expect(stateOf("p99", 2, 0)).toEqual([CELL.dead, Number.NaN]);
    expect(stateOf("loss", 0, 2)).toEqual([CELL.measured, 0]);
  });

  test("are unknown where nobody measures: coordinates and declared costs tell the median", () => {
    expect(stateOf("p50", 0, 1)).toEqual([CELL.estimated, 9]);
    for (const quantity of ["p90", "p99", "loss"] as const)
      expect(stateOf(quantity, 0, 1)).toEqual([CELL.nothing, Number.NaN]);
  });

  test("are too few for a zone where all its measured pairs have too few", () => {
    const at = (quantity: "p50" | "p99"): number => gridOf(view, quantity, "zones").cells[1]! & KIND_BITS;
    expect([at("p50"), at("p99")]).toEqual([CELL.measured, CELL.scarce]);
  });

  test("have a look of their own", () => {
    const pixels = pixelsOf(gridOf(view, "p99", "nodes"), "light");
    expect([...pixels.subarray(8, 11)]).toEqual([...rgbOf(SCARCE.light)]);
    expect(SCARCE.light).not.toBe(NOTHING.light);
  });

  test("are told in words, with how many there are and how many it takes", () => {
    const words = (quantity: "p50" | "p99", row: number, column: number) =>
      cellWords({ row, column }, gridOf(view, quantity, "nodes"), view);
    expect(words("p99", 0, 2)).toEqual({
      title: "a-1 → b-10",
      lines: [
        "p99: too few samples, 40 of 100",
        "median 2.1 ms",
        "p90 3 ms",
        "loss 0 %",
        "40 samples, the newest 1 s ago",
        "measured from the other end: no answer",
      ],
    });
    expect(words("p99", 0, 1)!.lines).toEqual(["median about 9 ms, estimated, not measured"]);
    expect(words("p50", 2, 0)!.lines[0]).toBe("no answer: every packet was lost");
    expect(words("p50", 0, 0)).toEqual({ title: "a-1", lines: ["the node itself"] });
  });
});

describe("the network as a whole", () => {
  test("names the worst pairs, those without an answer first", () => {
    const view = viewOf(
      graph([
        link("a-1", "b-2", 5),
        link("b-2", "a-1", 50),
        link("b-2", "b-10", null),
        link("lost", "a-1", 7),
      ]),
    );
    const worst = worstPairs(view);
    expect(worst.map(({ source, target }) => `${source} ${target}`)).toEqual([
      "b-2 b-10",
      "b-2 a-1",
      "lost a-1",
    ]);
    expect(worst[1]).toMatchObject({ p50: 50, backP50: 5, isDead: false, isBackDead: false });
    expect(worst[0]).toMatchObject({ isDead: true, backP50: Number.NaN });
    const a1 = view.nodes.findIndex(({ name }) => name === "a-1");
    expect(worstPairs(view, (row) => row === a1).map(({ source }) => source)).toEqual(["b-2", "lost"]);
    expect(summaryOf(view)).toMatchObject({
      medianMs: 7,
      worstMs: 50,
      pairs: 3,
      coverage: 0.25,
      dead: 1,
      lossy: 0,
    });
  });
});

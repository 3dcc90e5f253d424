import { describe, expect, test } from "vitest";
import { equalShares, maxMinShares } from "./sharing.ts";

const flow = (...hops: number[]) => ({ path: { nodes: [], hops } });
const FLOWS = [flow(0), flow(0, 1), flow(1), flow()];
const CAPACITIES = Float64Array.of(10, 30);

describe("shares of flows", () => {
  test("equal: each link by the number of its flows, whatever they can use of it", () => {
    expect([...equalShares(FLOWS, CAPACITIES)]).toEqual([5, 5, 15, Infinity]);
  });

  test("as TCP: what a flow can't use elsewhere goes to the others", () => {
    expect([...maxMinShares(FLOWS, CAPACITIES)]).toEqual([5, 5, 25, Infinity]);
  });
});

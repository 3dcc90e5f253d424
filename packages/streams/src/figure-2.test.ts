import { describe, expect, test } from "vitest";
import { equalShares } from "./baselines/sharing.ts";
import { jointRoutes, proportionalRates } from "./paper/jrba.ts";
import { computable, demandsOf, throughputOf, type Demand } from "./placed-job.ts";
import { allocationProgram } from "./testing/allocation.ts";
import { figure2, NODE_1, NODE_4 } from "./testing/figure-2.ts";
import { testSolver } from "./testing/solver.ts";

const WHOLE = [NODE_1, NODE_1, NODE_1, NODE_1, NODE_1, NODE_1];
const PARTITIONED = WHOLE.with(0, NODE_4);
const { system, job } = figure2();
const { capacities } = system.network;

/** All on the upper path, by e2. */
const onOnePath = (hosts: readonly number[]) =>
  demandsOf(job, hosts).map((demand) => ({
    ...demand,
    path: system.paths.between(demand.source, demand.target)[0]!,
  }));
const withShares = (flows: ReturnType<typeof onOnePath>) => {
  const shares = equalShares(flows, capacities);
  return flows.map((flow, at) => ({ ...flow, bitsPerSecond: shares[at]! }));
};
const frames = (hosts: readonly number[], flows: readonly (Demand & { bitsPerSecond: number })[]): number =>
  throughputOf(computable(job, hosts, "sum"), flows);

describe("ENTS, Figure 2", () => {
  test("the whole job on e1 makes 2 frames a second", () => {
    expect(frames(WHOLE, withShares(onOnePath(WHOLE)))).toBeCloseTo(2, 9);
  });

  test("partitioned, with equal shares, 2.5", () => {
    expect(frames(PARTITIONED, withShares(onOnePath(PARTITIONED)))).toBeCloseTo(2.5, 9);
  });

  test("with shares in proportion to volumes 10/3", () => {
    expect(frames(PARTITIONED, proportionalRates(onOnePath(PARTITIONED), capacities))).toBeCloseTo(10 / 3, 9);
  });

  test("with routes of their own 4, which is the proven optimum", async () => {
    const solve = await testSolver();
    const result = await jointRoutes(demandsOf(job, PARTITIONED), system.paths, capacities, { solve });
    expect(frames(PARTITIONED, result!.flows)).toBeCloseTo(4, 6);
    const optimum = await solve(allocationProgram(job, system, "sum").text(), 60_000);
    expect(optimum.status).toBe("optimal");
    expect(1 / optimum.bound).toBeCloseTo(4, 4);
  });
});

// Compares the search with proven optima on problems HiGHS solves in seconds. Benchmarks cover larger sizes.
import { seeded } from "@isochrone/primitives";
import { describe, expect, test } from "vitest";
import { balancedPaths } from "./balance.ts";
import { joint } from "../joint/joint.ts";
import { jointRoutes } from "../paper/jrba.ts";
import type { Path } from "../paths.ts";
import type { Demand } from "../placed-job.ts";
import { randomDemands, randomJob, randomSystem } from "./random-problems.ts";
import { testSolver } from "./solver.ts";
import { schedule } from "../strategy.ts";
import { allocationProgram } from "../proofs/allocation.ts";
import { pathChoiceProgram } from "./path-choice.ts";

const TIME_MS = 60_000;
const solve = await testSolver();

function slowestSeconds(
  demands: readonly Demand[],
  paths: readonly Path[],
  capacities: Float64Array,
): number {
  const seconds = new Float64Array(capacities.length);
  for (const [at, { bitsPerFrame }] of demands.entries())
    for (const hop of paths[at]!.hops) seconds[hop]! += bitsPerFrame / capacities[hop]!;
  return seconds.reduce((most, each) => Math.max(most, each), 0);
}

describe("paths of given flows (P3), 10 nodes and 10 flows", () => {
  const problems = [1, 2, 3, 4, 5, 6, 7, 8].map((seed) => {
    const draw = seeded(seed);
    const { system } = randomSystem(10, draw);
    return { system, demands: randomDemands(10, 10, draw) };
  });

  test("are within 5 % of the proven optimum on average, never below it, and not behind the paper's rounding", async () => {
    let ours = 0;
    let papers = 0;
    for (const { system, demands } of problems) {
      const { capacities } = system.network;
      const candidates = demands.map(({ source, target }) => system.paths.between(source, target));
      const optimum = await solve(pathChoiceProgram(demands, candidates, capacities).text(), TIME_MS);
      expect(optimum.status).toBe("optimal");
      const found = slowestSeconds(demands, balancedPaths(demands, system.paths, capacities)!, capacities);
      expect(found).toBeGreaterThanOrEqual(optimum.bound * (1 - 1e-5));
      const rounded = await jointRoutes(demands, system.paths, capacities, { solve });
      expect(rounded!.boundSeconds).toBeLessThanOrEqual(optimum.bound * (1 + 1e-5));
      ours += found / optimum.bound / problems.length;
      papers +=
        slowestSeconds(
          demands,
          rounded!.flows.map(({ path }) => path),
          capacities,
        ) /
        optimum.bound /
        problems.length;
    }
    expect(ours).toBeLessThanOrEqual(1.05);
    expect(ours).toBeLessThanOrEqual(papers);
  });
});

describe("nodes and paths of one job (P1), 8 nodes and 5 tasks", () => {
  test("reach 99 % of the proven optimum's throughput on each of six networks", async () => {
    for (const seed of [1, 2, 3, 4, 5, 6]) {
      const draw = seeded(seed);
      const { system, random } = randomSystem(8, draw);
      const job = randomJob(random, draw);
      const optimum = await solve(allocationProgram(job, system).text(), TIME_MS);
      expect(optimum.status, `seed ${seed}`).toBe("optimal");
      expect(await schedule(joint(), system, [job], false)).toEqual([]);
      const share = system.running[0]!.throughput * optimum.bound;
      expect(share, `seed ${seed}`).toBeGreaterThanOrEqual(0.99);
      expect(share, `seed ${seed}`).toBeLessThanOrEqual(1 + 1e-4);
    }
  });
});

describe("the relaxation of P3 in five units", () => {
  test.each([
    [10, 10],
    [10, 30],
    [30, 40],
  ])("of %i nodes and %i flows gives equal paths and an equal bound", async (nodes, flows) => {
    for (let seed = 101; seed <= 106; seed++) {
      const draw = seeded(seed);
      const { system } = randomSystem(nodes, draw);
      const demands = randomDemands(nodes, flows, draw);
      const inUnit = async (unit: number) => {
        const capacities = system.network.capacities.map((capacity) => capacity * unit);
        const scaled = demands.map((demand) => ({ ...demand, bitsPerFrame: demand.bitsPerFrame * unit }));
        const result = await jointRoutes(scaled, system.paths, capacities, { solve });
        return { bound: result!.boundSeconds, paths: result!.flows.map(({ path }) => path.hops) };
      };
      const expected = await inUnit(1);
      for (const unit of [1e-6, 1e-3, 1e3, 1e4]) {
        const { bound, paths } = await inUnit(unit);
        expect(bound / expected.bound, `seed ${seed}, unit ${unit}`).toBeCloseTo(1, 9);
        expect(paths, `seed ${seed}, unit ${unit}`).toEqual(expected.paths);
      }
    }
  });
});

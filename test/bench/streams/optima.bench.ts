// The search compared with optima proven by HiGHS, and with ENTS' rounding. `--quick`: the smallest sizes.
import { seeded } from "@isochrone/primitives";
import { joint, schedule } from "@isochrone/streams";
import {
  allocationProgram,
  balancedPaths,
  type Demand,
  jointRoutes,
  pathChoiceProgram,
  randomDemands,
  randomJob,
  randomSystem,
  testSolver,
} from "@isochrone/streams/testing";
import type { BenchResult } from "../types.ts";

const QUICK = process.argv.includes("--quick");
const SIZES = QUICK
  ? ([[10, 10]] as const)
  : ([
      [10, 10],
      [30, 40],
      [70, 40],
      [30, 150],
      [70, 300],
    ] as const);
const PROBLEMS = 4;
const JOBS = QUICK ? 5 : 20;
/** Relative gap up to which optima are proven. */
const GAP = 1e-4;
const TIME_MS = 20_000;
const WITHIN = 1.05;
const SHARE = 0.99;

export async function run(): Promise<BenchResult[]> {
  const results: BenchResult[] = [];
  for (const [nodes, flows] of SIZES) results.push(...(await paths(nodes, flows)));
  return [...results, ...(await hosts())];
}

/** P3: seconds per frame of the slowest flow, relative to the optimum or the solver's bound. */
async function paths(nodes: number, flows: number): Promise<BenchResult[]> {
  const solve = await testSolver(GAP);
  let [ours, papers, proven] = [0, 0, 0];
  for (let seed = 1; seed <= PROBLEMS; seed++) {
    const draw = seeded(seed);
    const { system } = randomSystem(nodes, draw);
    const { capacities } = system.network;
    const demands = randomDemands(nodes, flows, draw);
    const candidates = demands.map(({ source, target }) => system.paths.between(source, target));
    const exact = await solve(pathChoiceProgram(demands, candidates, capacities).text(), TIME_MS);
    const rounded = await jointRoutes(demands, system.paths, capacities, { solve });
    const bound = exact.status === "optimal" ? exact.bound : rounded!.boundSeconds;
    proven += exact.status === "optimal" ? 1 : 0;
    ours +=
      slowest(demands, balancedPaths(demands, system.paths, capacities)!, capacities) / bound / PROBLEMS;
    const theirs = rounded!.flows.map(({ path }) => path);
    papers += slowest(demands, theirs, capacities) / bound / PROBLEMS;
  }
  const what = `paths of ${flows} flows on ${nodes} nodes, slowest over optimum (${proven} of ${PROBLEMS} proven)`;
  return [
    {
      name: what,
      value: ours,
      unit: "x",
      target: `<= ${WITHIN}`,
      met: ours <= WITHIN,
      peer: "ENTS' rounding",
      ratio: ours / papers,
    },
  ];
}

function slowest(
  demands: readonly Demand[],
  chosen: readonly { readonly hops: readonly number[] }[],
  capacities: Float64Array,
): number {
  const seconds = new Float64Array(capacities.length);
  for (const [at, { bitsPerFrame }] of demands.entries())
    for (const hop of chosen[at]!.hops) seconds[hop]! += bitsPerFrame / capacities[hop]!;
  return seconds.reduce((most, each) => Math.max(most, each), 0);
}

/** P1: throughput of one job of five tasks on eight nodes, relative to the proven optimum. */
async function hosts(): Promise<BenchResult[]> {
  const solve = await testSolver(GAP);
  let least = Infinity;
  let proven = 0;
  for (let seed = 1; seed <= JOBS; seed++) {
    const draw = seeded(100 + seed);
    const { system, random } = randomSystem(8, draw);
    const job = randomJob(random, draw);
    const exact = await solve(allocationProgram(job, system).text(), TIME_MS);
    await schedule(joint(), system, [job], false);
    const [placed] = system.running;
    if (exact.status !== "optimal") continue;
    proven++;
    least = Math.min(least, (placed?.throughput ?? 0) * exact.bound);
  }
  return [
    {
      name: `nodes and paths of one job, worst of ${proven} proven optima`,
      value: least,
      unit: "of the optimum",
      target: `>= ${SHARE}`,
      met: least >= SHARE,
    },
  ];
}

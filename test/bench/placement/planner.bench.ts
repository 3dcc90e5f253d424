// The joint planner: how far from the proven optimum on small problems, how fast on larger ones, and how far
// from what ten times the effort finds.
import { median } from "@isochrone/primitives";
import { MONEY_LEADS, plan } from "@isochrone/placement";
import type { PlanProblem } from "@isochrone/placement";
import {
  MONEY_OPTIMA,
  OPTIMA,
  pricedProblem,
  randomProblem,
  smallProblem,
} from "@isochrone/placement/planner-testing";
import type { BenchResult } from "../types.ts";

const SEEDS = 5;
/** Of one problem: the first ones are compiled on the way. */
const REPEATS = 8;

export function run(): Promise<BenchResult[]> {
  return Promise.resolve([
    ...quality(),
    ...moneyQuality(),
    ...speed({ pods: 20, nodes: 100, targetMs: 20 }),
    ...speed({ pods: 100, nodes: 5_000, targetMs: 1_000 }),
    ...moneySpeed({ pods: 20, nodes: 100 }),
    ...moneySpeed({ pods: 100, nodes: 5_000 }),
  ]);
}

/** Against the committed optima. */
function quality(): BenchResult[] {
  const gaps = OPTIMA.map(([seed, total]) => {
    const found = plan(smallProblem(seed), options(1));
    return found.complete ? Math.max(0, (100 * (found.cost.total - total)) / total) : Infinity;
  });
  return gapResults(`planner, ${gaps.length} problems of up to 12 pods on 8 nodes`, gaps);
}

/** The same where money leads, within the bound on latency. */
function moneyQuality(): BenchResult[] {
  const gaps = MONEY_OPTIMA.map(([seed, total]) => {
    const problem = pricedProblem(smallProblem(seed), seed);
    const found = plan(problem, { ...options(1), moneyShare: MONEY_LEADS });
    return found.complete ? Math.max(0, (100 * (found.cost.total - total)) / total) : Infinity;
  });
  return gapResults(`planner by money, ${gaps.length} problems of up to 12 pods on 8 nodes`, gaps);
}

function gapResults(name: string, gaps: readonly number[]): BenchResult[] {
  const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
  const worst = Math.max(...gaps);
  return [
    { name: `${name}: mean gap to the optimum`, value: mean, unit: "%", target: "<= 1 %", met: mean <= 1 },
    { name: `${name}: worst gap`, value: worst, unit: "%", target: "<= 10 %", met: worst <= 10 },
    { name: `${name}: optimal`, value: gaps.filter((gap) => gap < 1e-6).length, unit: "plans" },
  ];
}

interface Size {
  readonly pods: number;
  readonly nodes: number;
  readonly targetMs: number;
}

function speed({ pods, nodes, targetMs }: Size): BenchResult[] {
  const medians: number[] = [];
  const gaps: number[] = [];
  let coldMs = 0;
  for (let seed = 1; seed <= SEEDS; seed++) {
    const problem = randomProblem(seed, { pods, nodes, zones: 6, constraints: 0.15 });
    problem.cluster.prepare();
    const runs = Array.from({ length: REPEATS }, () => timed(problem));
    if (seed === 1) coldMs = runs[0]!.ms;
    medians.push(median(runs.map(({ ms }) => ms))!);
    const long = plan(problem, { ...options(1), effort: 10 * Math.max(400_000, 20 * pods * nodes) });
    if (long.complete) gaps.push((100 * (runs[0]!.total - long.cost.total)) / long.cost.total);
  }
  const name = `planner, ${pods} pods on ${nodes} nodes`;
  const slowest = Math.max(...medians);
  return [
    {
      name: `${name}: median of the slowest problem`,
      value: slowest,
      unit: "ms",
      target: `<= ${targetMs} ms`,
      met: slowest <= targetMs,
    },
    { name: `${name}: the first plan of the process`, value: coldMs, unit: "ms" },
    {
      name: `${name}: mean gap to ten times the effort`,
      value: gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length,
      unit: "%",
    },
  ];
}

/** What a plan by money takes beside one by latency, which is its first half. */
function moneySpeed({ pods, nodes }: Pick<Size, "nodes" | "pods">): BenchResult[] {
  const problem = pricedProblem(randomProblem(1, { pods, nodes, zones: 6, constraints: 0.15 }), 1);
  problem.cluster.prepare();
  const runs = Array.from({ length: REPEATS }, () => ({
    latency: timed(problem).ms,
    money: timed(problem, { moneyShare: MONEY_LEADS }).ms,
  }));
  const of = (which: "latency" | "money"): number => median(runs.map((each) => each[which]))!;
  const name = `planner by money, ${pods} pods on ${nodes} nodes`;
  return [
    { name: `${name}: median`, value: of("money"), unit: "ms" },
    { name: `${name}: to a plan by latency`, value: of("money") / of("latency"), unit: "times" },
  ];
}

function timed(
  problem: PlanProblem,
  settings: { readonly moneyShare?: number } = {},
): { ms: number; total: number } {
  const startMs = performance.now();
  const { cost } = plan(problem, { ...options(1), ...settings });
  return { ms: performance.now() - startMs, total: cost.total };
}

/** Without a deadline: what is measured is how long the default effort takes. */
function options(seed: number): { seed: number; now: () => number; deadlineMs: number } {
  return { seed, now: () => performance.now(), deadlineMs: Infinity };
}

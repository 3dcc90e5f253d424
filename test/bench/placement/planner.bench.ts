// Gap to the proven optimum or to the best known plan and lower bound. Times are CPU time of the thread.
import { median } from "@isochrone/primitives";
import { defaultMatrix } from "@isochrone/lab/testing";
import { MONEY_LEADS, plan } from "@isochrone/placement";
import type { Plan, PlanProblem } from "@isochrone/placement";
import {
  MONEY_OPTIMA,
  OPTIMA,
  SITE_BEST,
  pricedProblem,
  randomProblem,
  siteProblem,
  smallProblem,
} from "@isochrone/placement/planner-testing";
import { threadMs } from "../streams/problems.ts";
import type { BenchResult } from "../types.ts";

/** Runs until it converges. */
const UNHURRIED = { seed: 1, now: (): number => 0, deadlineMs: 1 };
/** Time limit of a search in the services. */
const SECOND_MS = 1_000;
const LONG_SEEDS = [1, 2, 3];
/** Repetitions per problem. The first ones compile code. */
const REPEATS = 8;

export function run(): Promise<BenchResult[]> {
  return Promise.resolve([
    ...quality(),
    ...moneyQuality(),
    ...sites(),
    ...larger({ pods: 100, nodes: 50, problems: 5, constraints: 0.15, longMs: 10_000 }),
    ...larger({ pods: 1_000, nodes: 5_000, problems: 1, constraints: 0, longMs: 30_000 }),
    ...moneySpeed({ pods: 20, nodes: 100 }),
    ...moneySpeed({ pods: 100, nodes: 5_000 }),
  ]);
}

/** Compares with the committed optima. */
function quality(): BenchResult[] {
  const gaps = OPTIMA.map(([seed, total]) => {
    const found = plan(smallProblem(seed), UNHURRIED);
    return found.complete ? Math.max(0, (100 * (found.cost.total - total)) / total) : Infinity;
  });
  return gapResults(`planner, ${gaps.length} problems of up to 12 pods on 8 nodes`, gaps);
}

/** Like `quality`, with money first, within the limit on latency. */
function moneyQuality(): BenchResult[] {
  const gaps = MONEY_OPTIMA.map(([seed, total]) => {
    const problem = pricedProblem(smallProblem(seed), seed);
    const found = plan(problem, { ...UNHURRIED, moneyShare: MONEY_LEADS });
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

/** On the built-in latency matrix, compared with the committed best known plans. */
function sites(): BenchResult[] {
  const matrix = defaultMatrix();
  const found = SITE_BEST.map(([seed, best]) => {
    const run = timed(siteProblem(seed, matrix));
    return { ...run, gap: (100 * (run.total - best)) / best };
  });
  const gaps = found.map(({ gap }) => gap);
  const [mean, worst] = [gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length, Math.max(...gaps)];
  const name = `planner, ${found.length} problems of 27 pods on 9 nodes, its second`;
  return [
    { name: `${name}: mean gap to the best known`, value: mean, unit: "%", target: "<= 1 %", met: mean <= 1 },
    { name: `${name}: worst gap`, value: worst, unit: "%", target: "<= 3 %", met: worst <= 3 },
    { name: `${name}: median time`, value: median(found.map(({ ms }) => ms))!, unit: "ms" },
    ...endsOf(name, found),
  ];
}

interface Size {
  readonly pods: number;
  readonly nodes: number;
  readonly problems: number;
  readonly constraints: number;
  readonly longMs: number;
}

function larger({ pods, nodes, problems, constraints, longMs }: Size): BenchResult[] {
  const found: (Timed & { readonly gap: number; readonly bound: number })[] = [];
  for (let seed = 1; seed <= problems; seed++) {
    const problem = randomProblem(seed, { pods, nodes, zones: 6, constraints });
    problem.cluster.prepare();
    const run = timed(problem);
    if (run.total === 0)
      throw new Error(`problem ${seed} of ${pods} pods on ${nodes} nodes has no complete plan`);
    const long = LONG_SEEDS.map((each) => timed(problem, {}, longMs, each).total);
    const best = Math.min(run.total, ...long);
    found.push({
      ...run,
      gap: (100 * (run.total - best)) / best,
      bound: 100 * (run.total / run.lowerBound - 1),
    });
  }
  const mean = (of: (each: (typeof found)[number]) => number): number =>
    found.reduce((sum, each) => sum + of(each), 0) / found.length;
  const name = `planner, ${pods} pods on ${nodes} nodes, its second`;
  return [
    {
      name: `${name}: mean gap to ${longMs / 1_000} s of ${LONG_SEEDS.length} seeds`,
      value: mean((each) => each.gap),
      unit: "%",
    },
    { name: `${name}: mean gap to the lower bound`, value: mean((each) => each.bound), unit: "%" },
    { name: `${name}: longest time`, value: Math.max(...found.map(({ ms }) => ms)), unit: "ms" },
    ...endsOf(name, found),
  ];
}

function endsOf(name: string, found: readonly Timed[]): BenchResult[] {
  const ends = Map.groupBy(found, ({ ended }) => ended);
  return [...ends].map(([ended, of]) => ({
    name: `${name}: ended ${ended}`,
    value: of.length,
    unit: "plans",
  }));
}

/** Time of a plan by money next to one by latency, which is its first half. */
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

interface Timed {
  readonly ms: number;
  readonly total: number;
  readonly lowerBound: number;
  readonly ended: Plan["ended"];
}

function timed(
  problem: PlanProblem,
  settings: { readonly moneyShare?: number } = {},
  budgetMs = SECOND_MS,
  seed = 1,
): Timed {
  const startMs = threadMs();
  const limits = { seed, now: threadMs, deadlineMs: startMs + budgetMs };
  const { cost, lowerBound, ended } = plan(problem, { ...limits, ...settings });
  return { ms: threadMs() - startMs, total: cost.total, lowerBound, ended };
}

import { createObjective, plan, trafficCosts, zoneLacks } from "@isochrone/placement";
import type {
  OtherNode,
  Plan,
  PlanCost,
  PlanProblem,
  PlanSettings,
  TrafficCosts,
  ZoneLack,
} from "@isochrone/placement";
import { definedOf } from "@isochrone/primitives";

export interface SearchOptions {
  readonly seed: number;
  readonly budgetMs: number;
  readonly effort?: number;
  readonly start?: Int32Array;
  /** Polled: end now with the best plan so far. @default never */
  readonly isCut?: () => boolean;
  readonly bytesPerRequest: number;
  readonly maxCpuUse?: number;
  readonly moneyShare?: number;
  readonly maxLatencyLoss?: number;
  readonly moveCost?: number;
  readonly pressureShare?: number;
  readonly maxAlternatives: number;
  readonly now: () => number;
}

export interface SearchResult extends Omit<Plan, "greedyCost" | "others" | "tries"> {
  readonly alternatives: readonly (readonly OtherNode[])[];
  readonly lacks: readonly ZoneLack[];
  readonly costs: (TrafficCosts & { readonly currency: string }) | null;
  readonly durationMs: number;
}

const PAIRS = 2_000;

/** Leaves out pods without a possible node, with the reason. */
export function searchPlan(problem: PlanProblem, options: SearchOptions): SearchResult {
  const { seed, budgetMs, now, effort, start, isCut } = options;
  const beganMs = now();
  const limits = {
    seed,
    now: isCut === undefined ? now : (): number => (isCut() ? Number.MAX_VALUE : now()),
    deadlineMs: beganMs + budgetMs,
    ...definedOf({ effort, start }),
    partial: true,
    others: options.maxAlternatives,
  };
  const found = plan(problem, { ...limits, ...costSettings(options) });
  const { assignment, complete, unplaced, cost, lowerBound, ended, traffic, networkKnown } = found;
  const { latencyLimit, fallback, others } = found;
  const alternatives = others === null ? alternativesOf(problem, assignment, options) : [others];
  const durationMs = now() - beganMs;
  return {
    assignment,
    complete,
    unplaced,
    cost: bounded(cost),
    lowerBound,
    ended,
    traffic,
    networkKnown,
    latencyLimit,
    fallback,
    alternatives,
    lacks: zoneLacks(problem, assignment, costSettings(options)),
    costs: costsOf(problem, assignment, options),
    durationMs,
  };
}

export function provenResult(
  problem: PlanProblem,
  found: SearchResult,
  proof: { readonly assignment: Int32Array; readonly lowerBound: number },
  options: SearchOptions,
): SearchResult {
  const { assignment, lowerBound } = proof;
  const cost = createObjective(problem, costSettings(options)).total(assignment);
  const alternatives = alternativesOf(problem, assignment, options);
  const lacks = zoneLacks(problem, assignment, costSettings(options));
  const costs = costsOf(problem, assignment, options);
  return {
    ...found,
    assignment,
    cost: bounded(cost),
    lowerBound,
    ended: "optimal",
    alternatives,
    lacks,
    costs,
  };
}

function costsOf(
  problem: PlanProblem,
  assignment: Int32Array,
  { bytesPerRequest }: SearchOptions,
): SearchResult["costs"] {
  const { prices } = problem;
  if (prices === undefined) return null;
  return { ...trafficCosts(problem, assignment, bytesPerRequest), currency: prices.currency };
}

function alternativesOf(problem: PlanProblem, assignment: Int32Array, options: SearchOptions): OtherNode[][] {
  const { pods, nodes } = problem;
  const perPod = Math.min(options.maxAlternatives, Math.max(2, Math.floor(PAIRS / Math.max(1, pods.length))));
  const objective = createObjective(problem, costSettings(options));
  const tried = nodesToTry(nodes, assignment, perPod * 2 + 1);
  return pods.map(({ allowed }, pod) => {
    const at = assignment[pod]!;
    if (at < 0) return [];
    const others = tried.filter((node) => node !== at && allowed?.[node] !== 0).slice(0, perPod * 2);
    return others
      .map((node) => ({ node, delta: objective.moveDelta(assignment, pod, node) }))
      .sort((a, b) => a.delta - b.delta)
      .slice(0, perPod);
  });
}

function nodesToTry(nodes: PlanProblem["nodes"], assignment: Int32Array, count: number): number[] {
  const used = new Set([...assignment].filter((node) => node >= 0));
  const tried = new Set(used);
  const perUsed = Math.ceil((count - used.size) / Math.max(1, used.size));
  for (const node of used) {
    const { zone } = nodes[node]!;
    let left = perUsed;
    for (let step = 1; step < nodes.length && left > 0; step++) {
      const next = (node + step) % nodes.length;
      if (nodes[next]!.zone !== zone || tried.has(next)) continue;
      tried.add(next);
      left--;
    }
  }
  for (let node = 0; node < nodes.length && tried.size < count; node++) tried.add(node);
  return [...tried];
}

export function costSettings({
  bytesPerRequest,
  maxCpuUse,
  moneyShare,
  maxLatencyLoss,
  moveCost,
  pressureShare,
}: Pick<
  SearchOptions,
  "bytesPerRequest" | "maxCpuUse" | "maxLatencyLoss" | "moneyShare" | "moveCost" | "pressureShare"
>): Partial<PlanSettings> {
  return {
    bytesPerRequest,
    ...definedOf({ maxCpuUse, moneyShare, maxLatencyLoss, moveCost, pressureShare }),
  };
}

function bounded(cost: PlanCost): PlanCost {
  const { network, pressure, total } = cost;
  return { network, pressure, total };
}

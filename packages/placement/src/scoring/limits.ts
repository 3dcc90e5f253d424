import { bandwidthViolations, networkLimitViolations } from "./network-limits.ts";
import type { PlacementProblem } from "./problem.ts";
import type { Strategy } from "./strategy.ts";

interface LimitOptions {
  /** Reject nodes where the pod doesn't fit by measured use. @default false */
  readonly usageHeadroom?: boolean;
}

export function rejectedNodes(
  strategy: Strategy,
  problem: PlacementProblem,
  { usageHeadroom = false }: LimitOptions = {},
): ReadonlyMap<string, string> {
  const rejected = strategy.filter?.(problem) ?? nodesBeyondLimits(problem);
  return usageHeadroom ? new Map([...headroomViolations(problem), ...rejected]) : rejected;
}

/** Reports one broken limit per candidate. */
export function nodesBeyondLimits(problem: PlacementProblem): Map<string, string> {
  return new Map([...bandwidthViolations(problem), ...networkLimitViolations(problem)]);
}

/**
 * Rejects nodes whose measured free CPU or memory, minus assumed use, is below the pod's use (or requests).
 * kube-scheduler compares requests only. Unknown figures reject nothing.
 */
export function headroomViolations(problem: PlacementProblem): Map<string, string> {
  const violations = new Map<string, string>();
  const graph = problem.cluster.graph;
  if (graph === null) return violations;
  const ids = graph.idsOf(problem.candidates);
  for (const resource of RESOURCES) {
    const need = needOf(problem, resource.amount);
    if (need === null) continue;
    const available = graph.available(resource.amount);
    for (const [row, name] of problem.candidates.entries()) {
      const assumed = problem.assumedUse?.get(name)?.[resource.amount] ?? 0;
      const left = ids[row]! < 0 ? Number.NaN : available[ids[row]!]! - assumed;
      if (left < need.amount && !violations.has(name))
        violations.set(name, words(name, left, need, resource));
    }
  }
  return violations;
}

interface Need {
  readonly amount: number;
  readonly verb: "uses" | "requests";
}

/** The pod's need of a resource. Null: unknown or 0. */
function needOf({ pod, workflow }: PlacementProblem, resource: Resource["amount"]): Need | null {
  const used = pod.workload === null ? null : (workflow.graph?.workload(pod.workload)?.[resource] ?? null);
  const amount = used ?? pod.requests?.[resource] ?? 0;
  return amount > 0 ? { amount, verb: used === null ? "requests" : "uses" } : null;
}

interface Resource {
  readonly amount: "cpuMillicores" | "memoryBytes";
  readonly name: string;
  readonly text: (amount: number) => string;
}

const RESOURCES: readonly Resource[] = [
  { amount: "cpuMillicores", name: "CPU", text: (millicores) => `${Math.round(millicores)}m` },
  { amount: "memoryBytes", name: "memory", text: (bytes) => `${Math.round(bytes / 2 ** 20)} Mi` },
];

function words(node: string, left: number, { amount, verb }: Need, { name, text }: Resource): string {
  return `by measured use ${node} has ${text(left)} ${name} left, the pod ${verb} ${text(amount)}`;
}

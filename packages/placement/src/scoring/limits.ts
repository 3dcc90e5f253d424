// What no score can make up for.
import { bandwidthViolations, networkLimitViolations } from "./network-limits.ts";
import type { PlacementProblem } from "./problem.ts";
import type { Strategy } from "./strategy.ts";

interface LimitOptions {
  /** Reject nodes where by measured use, not by requests, the pod doesn't fit. @default false */
  readonly usageHeadroom?: boolean;
}

/**
 * Candidates that may not be chosen, with the words to tell the user: by the strategy's own rules, or where
 * it has none by the common ones.
 */
export function rejectedNodes(
  strategy: Strategy,
  problem: PlacementProblem,
  { usageHeadroom = false }: LimitOptions = {},
): ReadonlyMap<string, string> {
  const rejected = strategy.filter?.(problem) ?? nodesBeyondLimits(problem);
  return usageHeadroom ? new Map([...headroomViolations(problem), ...rejected]) : rejected;
}

/** Candidates that break what a channel declares, with the first of the limits that they break. */
export function nodesBeyondLimits(problem: PlacementProblem): Map<string, string> {
  return new Map([...bandwidthViolations(problem), ...networkLimitViolations(problem)]);
}

/**
 * Candidates whose measured available CPU or memory, less what pods use that were sent there a moment ago, is
 * below what the pod uses (or requests, while its use isn't known). kube-scheduler compares requests, which
 * may be far from what is used. Unknown rejects nothing.
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
      // Not known is NaN, which is below nothing.
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

/** null: nobody knows, or nothing. */
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

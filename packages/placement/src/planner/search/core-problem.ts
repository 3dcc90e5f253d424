// Restricts the long search in large clusters to the few nodes that matter.
import type { Draw } from "@isochrone/primitives";
import type { PlanProblem, PlanUse } from "../objective/plan-problem.ts";
import type { PlanState } from "./plan-state.ts";
import { drawIndex } from "./draws.ts";

const CORE_NODES = 256;
const SMALL_CLUSTER = 2 * CORE_NODES;
const PER_GROUP = 6;
const AT_RANDOM = 16;

export function isLarge(problem: PlanProblem): boolean {
  return problem.nodes.length > SMALL_CLUSTER;
}

export function coreNodes(state: PlanState, plans: readonly Int32Array[], draw: Draw): Int32Array {
  const core = new Set<number>();
  for (const plan of plans) for (const node of plan) if (node >= 0) core.add(node);
  const used = [...core];
  for (const [pod] of state.problem.pods.entries()) for (const node of bestFor(state, pod)) core.add(node);
  const count = state.problem.nodes.length;
  for (let extra = 0; extra < AT_RANDOM; extra++) core.add(drawIndex(draw, count));
  const each = Math.max(1, Math.floor((CORE_NODES - core.size) / Math.max(1, used.length)));
  for (const node of used) {
    if (core.size >= CORE_NODES) break;
    for (const other of nearestTo(state, node, each)) core.add(other);
  }
  return Int32Array.from(core).sort();
}

export function problemOn(problem: PlanProblem, core: Int32Array): PlanProblem {
  const position = new Map([...core].map((node, at) => [node, at]));
  const { nodeNames: _, ...same } = problem;
  return {
    ...same,
    nodes: [...core].map((node) => problem.nodes[node]!),
    pods: problem.pods.map((pod) => ({
      ...pod,
      allowed: pod.allowed === null ? null : Uint8Array.from(core, (node) => pod.allowed![node]!),
      current: position.get(pod.current) ?? -1,
    })),
    constraints: problem.constraints.map((rule) => ({
      ...rule,
      domainOf: Int32Array.from(core, (node) => rule.domainOf[node]!),
    })),
    ...(problem.use === undefined ? {} : { use: useOn(problem.use, core) }),
  };
}

function useOn({ capacity, others, pods }: PlanUse, core: Int32Array): PlanUse {
  const of = (byNode: Float64Array): Float64Array => Float64Array.from(core, (node) => byNode[node]!);
  return { capacity: of(capacity), others: of(others), pods };
}

/** Best nodes for a workload's first pod. Its other replicas get none: they are interchangeable. */
function bestFor(state: PlanState, pod: number): number[] {
  const group = state.traffic.groups[state.traffic.groupOf[pod]!];
  if (group === undefined || group.pods[0] !== pod) return [];
  const costs = state.networkColumn(pod);
  return leastOf(costs, PER_GROUP, (node) => state.isOpen(pod, node));
}

function nearestTo(state: PlanState, node: number, count: number): number[] {
  const to = state.field.to(node);
  const from = state.field.from(node);
  return leastOf(
    to.map((ms, other) => ms + from[other]!),
    count,
    () => true,
  );
}

/** Indices of the `count` least accepted values, by insertion into a short list. */
function leastOf(values: Float64Array, count: number, passes: (at: number) => boolean): number[] {
  const found: number[] = [];
  for (let at = 0; at < values.length; at++) {
    if (found.length === count && values[at]! >= values[found[count - 1]!]!) continue;
    if (!passes(at)) continue;
    let place = found.length;
    while (place > 0 && values[found[place - 1]!]! > values[at]!) place--;
    found.splice(place, 0, at);
    if (found.length > count) found.pop();
  }
  return found;
}

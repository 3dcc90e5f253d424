// Which pods of a plan are released together (004's TopologicalSort, without a scheduler of its own).
import type { WorkflowGraph } from "@isochrone/topology";
import { looseFields, looseList } from "@isochrone/primitives";

/** Whose place in an order is asked for. */
export interface Releasable {
  /** Names that its workload may have, the most certain first. */
  readonly workloads: readonly string[];
  /** By which AppGroups know it; null: it has no such label. */
  readonly selector: string | null;
}

/** Its place in the order; lower is earlier. Null where the order doesn't know it: it comes last. */
export type LevelOf = (pod: Releasable) => number | null;

/**
 * By `status.topologyOrder` of an AppGroup: each index is a level of its own. Null when it has none. A pod is
 * known by its selector, as upstream's plugin looks for it, and by its workload's name only where it carries
 * none.
 */
export function appGroupLevels(status: unknown): LevelOf | null {
  const { topologyOrder } = looseFields<Record<"topologyOrder", unknown>>(status);
  const entries = looseList<Record<"workload" | "index", unknown>>(topologyOrder);
  if (entries.length === 0) return null;
  const [bySelector, byName] = [new Map<string, number>(), new Map<string, number>()];
  for (const { workload, index } of entries) {
    if (typeof index !== "number" || !Number.isFinite(index)) continue;
    const { name, selector } = looseFields<Record<"name" | "selector", unknown>>(workload);
    if (typeof name === "string") byName.set(name, index);
    if (typeof selector === "string") bySelector.set(selector, index);
  }
  return ({ workloads, selector }) =>
    selector === null
      ? firstKnown(workloads, (name) => byName.get(name) ?? bySelector.get(name))
      : (bySelector.get(selector) ?? null);
}

/**
 * By the channels of the workflow: a level has the workloads whose callers are all in levels before it, as
 * KahnSort orders an AppGroup that says nothing else. Workloads on a cycle, and behind one, are in the level
 * after all others.
 */
export function channelLevels(workflow: WorkflowGraph): LevelOf {
  const callers = new Map(workflow.workloads.map(({ name }) => [name, 0]));
  const callees = new Map<string, Set<string>>();
  for (const { source, target } of workflow.channels) {
    if (source === target || !callers.has(source) || !callers.has(target)) continue;
    const of = callees.get(source) ?? new Set<string>();
    if (!of.has(target)) callers.set(target, callers.get(target)! + 1);
    callees.set(source, of.add(target));
  }
  const levelOf = new Map<string, number>();
  let level = 0;
  for (
    let ready = [...callers].filter(([, count]) => count === 0).map(([name]) => name);
    ready.length > 0;
    level++
  ) {
    const next: string[] = [];
    for (const name of ready) {
      levelOf.set(name, level);
      for (const callee of callees.get(name) ?? []) {
        const left = callers.get(callee)! - 1;
        callers.set(callee, left);
        if (left === 0) next.push(callee);
      }
    }
    ready = next;
  }
  return ({ workloads }) =>
    firstKnown(workloads, (name) => levelOf.get(name) ?? (callers.has(name) ? level : undefined));
}

/** The pods by level, earlier levels first; of a level in their own order. */
export function byLevel<T>(
  pods: readonly T[],
  releasableOf: (pod: T) => Releasable,
  levelOf: LevelOf,
): T[][] {
  const levels = new Map<number, T[]>();
  for (const pod of pods) {
    const level = levelOf(releasableOf(pod)) ?? Infinity;
    const of = levels.get(level) ?? [];
    of.push(pod);
    levels.set(level, of);
  }
  return [...levels].sort(([a], [b]) => a - b).map(([, of]) => of);
}

function firstKnown(names: readonly string[], indexOf: (name: string) => number | undefined): number | null {
  for (const name of names) {
    const index = indexOf(name);
    if (index !== undefined) return index;
  }
  return null;
}

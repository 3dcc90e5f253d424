// Groups a plan's pods into release levels (004's TopologicalSort without its own scheduler).
import type { WorkflowGraph } from "@isochrone/topology";
import { looseFields, looseList } from "@isochrone/primitives";

export interface Releasable {
  readonly workloads: readonly string[];
  readonly selector: string | null;
}

/** Lower is earlier. Null: unknown to the order, so last. */
export type LevelOf = (pod: Releasable) => number | null;

/**
 * Levels from an AppGroup's `status.topologyOrder`, one per index; null without one. Matches a pod by
 * selector, as upstream's plugin does, and by workload name only without a selector.
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
 * Levels from the workflow's channels: a workload follows all its callers, like the default KahnSort of
 * AppGroups. Workloads on or behind a cycle come last.
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

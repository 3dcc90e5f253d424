// Evictions of the last hour or longer: they count for the budget per hour, and a workload that went back at
// once to a node that it left would go to and fro.
import { HOUR_MS } from "@isochrone/placement";
import type { PlanProblem } from "@isochrone/placement";

export interface LeftNode {
  /** Of the workload, as `MovablePod` has it. */
  readonly owner: string;
  /** namespace/name of its workflow. */
  readonly workflow: string;
  readonly node: string;
  /** Wall clock, milliseconds. */
  readonly atMs: number;
}

const LEAST_RETURN_MS = HOUR_MS;
const LEAST_RETURN_COOL_DOWNS = 6;

/**
 * A workload goes back to a node that it left after two cool-downs at the earliest, and not within the hour
 * or six cool-downs.
 */
export function leastReturnMs(coolDownMs: number): number {
  return Math.max(2 * coolDownMs, Math.min(LEAST_RETURN_MS, LEAST_RETURN_COOL_DOWNS * coolDownMs));
}

export class LeftNodes {
  readonly #keepMs: number;
  #notes: readonly LeftNode[] = [];

  /** @param keepMs for how long no pod of the workload goes there again */
  constructor(keepMs: number) {
    this.#keepMs = keepMs;
  }

  get notes(): readonly LeftNode[] {
    return this.#notes;
  }

  /** What the leader before has noted. */
  restore(notes: readonly LeftNode[]): void {
    this.#notes = notes;
  }

  add(note: LeftNode): void {
    this.#notes = [...this.#notes, note];
  }

  /** The clock was set by so much. */
  shift(stepMs: number): void {
    this.#notes = this.#notes.map((note) => ({ ...note, atMs: note.atMs + stepMs }));
  }

  /** Evictions of the last hour. */
  lastHour(nowMs: number): readonly LeftNode[] {
    return this.#notes.filter(({ atMs }) => nowMs - atMs < HOUR_MS);
  }

  /** By workload, nodes that it may not go back to. Forgets older notes. */
  current(nowMs: number): ReadonlyMap<string, ReadonlySet<string>> {
    this.#notes = this.#notes.filter(({ atMs }) => nowMs - atMs < Math.max(this.#keepMs, HOUR_MS));
    const kept = this.#notes.filter(({ atMs }) => nowMs - atMs < this.#keepMs);
    const byOwner = Map.groupBy(kept, ({ owner }) => owner);
    return new Map([...byOwner].map(([owner, notes]) => [owner, new Set(notes.map(({ node }) => node))]));
  }
}

/** The problem in which no pod may go to a node that its workload has left. Where it is, it may stay. */
export function withoutLeftNodes(
  problem: PlanProblem,
  owners: readonly string[],
  left: ReadonlyMap<string, ReadonlySet<string>>,
): PlanProblem {
  if (left.size === 0) return problem;
  const pods = problem.pods.map((pod, index) => {
    const nodes = left.get(owners[index]!);
    if (nodes === undefined) return pod;
    const allowed = pod.allowed?.slice() ?? new Uint8Array(problem.nodes.length).fill(1);
    for (const [node, { name }] of problem.nodes.entries())
      if (nodes.has(name) && node !== pod.current) allowed[node] = 0;
    return { ...pod, allowed };
  });
  return { ...problem, pods };
}

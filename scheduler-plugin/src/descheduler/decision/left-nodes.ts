// Records evictions of the last hour or longer. They count for the hourly budget, and keep a workload from
// moving back and forth.
import { HOUR_MS } from "@isochrone/placement";
import type { PlanProblem } from "@isochrone/placement";

export interface LeftNode {
  readonly owner: string;
  readonly workflow: string;
  readonly node: string;
  readonly atMs: number;
}

const LEAST_RETURN_MS = HOUR_MS;
const LEAST_RETURN_COOL_DOWNS = 6;

/** A workload may return to a node after two cool-downs, at least an hour, at most six cool-downs. */
export function leastReturnMs(coolDownMs: number): number {
  return Math.max(2 * coolDownMs, Math.min(LEAST_RETURN_MS, LEAST_RETURN_COOL_DOWNS * coolDownMs));
}

export class LeftNodes {
  readonly #keepMs: number;
  #notes: readonly LeftNode[] = [];

  constructor(keepMs: number) {
    this.#keepMs = keepMs;
  }

  get notes(): readonly LeftNode[] {
    return this.#notes;
  }

  restore(notes: readonly LeftNode[]): void {
    this.#notes = notes;
  }

  add(note: LeftNode): void {
    this.#notes = [...this.#notes, note];
  }

  /** Adjusts for a wall-clock step. */
  shift(stepMs: number): void {
    this.#notes = this.#notes.map((note) => ({ ...note, atMs: note.atMs + stepMs }));
  }

  lastHour(nowMs: number): readonly LeftNode[] {
    return this.#notes.filter(({ atMs }) => nowMs - atMs < HOUR_MS);
  }

  current(nowMs: number): ReadonlyMap<string, ReadonlySet<string>> {
    this.#notes = this.#notes.filter(({ atMs }) => nowMs - atMs < Math.max(this.#keepMs, HOUR_MS));
    const kept = this.#notes.filter(({ atMs }) => nowMs - atMs < this.#keepMs);
    const byOwner = Map.groupBy(kept, ({ owner }) => owner);
    return new Map([...byOwner].map(([owner, notes]) => [owner, new Set(notes.map(({ node }) => node))]));
  }
}

/** Forbids pods to move to nodes that their workload has left. A pod already there may stay. */
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

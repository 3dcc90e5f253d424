// Nodes that workloads left a while ago: a workload that went back at once would go to and fro. Plain data
// but for the notes themselves.
import type { PlanProblem } from "@isochrone/placement";

export interface LeftNode {
  /** Of the workload, as `MovablePod` has it. */
  readonly owner: string;
  readonly node: string;
  /** Wall clock, milliseconds. */
  readonly atMs: number;
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

  /** By workload. Forgets the older ones. */
  current(nowMs: number): ReadonlyMap<string, ReadonlySet<string>> {
    this.#notes = this.#notes.filter(({ atMs }) => nowMs - atMs < this.#keepMs);
    const byOwner = Map.groupBy(this.#notes, ({ owner }) => owner);
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

import { allCandidates, rankedTable } from "@isochrone/placement";
import type { ScoreTable } from "@isochrone/placement";
import type { Decision } from "@isochrone/topology";

/** What is kept of a decision. Most are never looked at, so the objects that the API shows are made when somebody asks. */
export interface LoggedDecision {
  readonly id: string;
  /** Wall clock, milliseconds. */
  readonly atMs: number;
  readonly pod: Decision["pod"];
  readonly workflow: string;
  readonly workload: string | null;
  /** At least the candidates that are shown, in no order. */
  readonly candidates: ScoreTable;
}

export interface DecisionFilter {
  readonly namespace?: string | undefined;
  readonly pod?: string | undefined;
  readonly limit: number;
}

/** The last decisions, in a ring: the newest replaces the oldest. */
export class DecisionLog {
  readonly #ring: (LoggedDecision | undefined)[];
  readonly #byId = new Map<string, LoggedDecision>();
  #next = 0;

  constructor(capacity: number) {
    this.#ring = Array.from({ length: capacity });
  }

  add(decision: LoggedDecision): void {
    const replaced = this.#ring[this.#next];
    if (replaced !== undefined) this.#byId.delete(replaced.id);
    this.#ring[this.#next] = decision;
    this.#byId.set(decision.id, decision);
    this.#next = (this.#next + 1) % this.#ring.length;
  }

  get(id: string): Decision | undefined {
    const found = this.#byId.get(id);
    return found === undefined ? undefined : toDecision(found);
  }

  /** Newest first. */
  find({ namespace, pod, limit }: DecisionFilter): Decision[] {
    const found: Decision[] = [];
    for (let back = 1; back <= this.#ring.length && found.length < limit; back++) {
      const decision = this.#ring.at(this.#next - back);
      if (decision === undefined) break;
      if (namespace !== undefined && decision.pod.namespace !== namespace) continue;
      if (pod !== undefined && decision.pod.name !== pod) continue;
      found.push(toDecision(decision));
    }
    return found;
  }
}

function toDecision({ id, atMs, pod, workflow, workload, candidates }: LoggedDecision): Decision {
  const { strategy, mode, explanation } = candidates;
  return {
    id,
    at: new Date(atMs).toISOString(),
    pod,
    workflow,
    workload,
    strategy,
    mode,
    inputs: explanation.inputs,
    explanation: [...explanation.sentences],
    best: explanation.best,
    candidates: allCandidates(rankedTable(candidates)),
  };
}

import { allCandidates, rankedTable } from "@isochrone/placement";
import type { ScoreTable } from "@isochrone/placement";
import type { Decision, DecisionKind } from "@isochrone/topology";
import { FairMap } from "./fair-map.ts";

/** What is kept of a pod's score. Most are never looked at, so the objects that the API shows are made when somebody asks. */
export interface LoggedScore {
  readonly id: string;
  /** Wall clock, milliseconds. */
  readonly atMs: number;
  readonly pod: Decision["pod"];
  readonly workflow: string;
  readonly workload: string | null;
  /** What to know beside the strategy's own explanation; null = nothing. */
  readonly note?: string | null;
  /** At least the candidates that are shown, in no order. */
  readonly candidates: ScoreTable;
}

/** A plan or an eviction: rare beside scores, and kept as the API shows it, or made when somebody asks. */
export interface LoggedAct {
  readonly id: string;
  readonly kind: Exclude<DecisionKind, "score">;
  readonly pod: Decision["pod"];
  /** Without `id`, `kind`, `pod` and `outcome`, which the log adds. */
  readonly show: () => Omit<Decision, "id" | "kind" | "pod" | "outcome">;
}

export type LoggedDecision = LoggedScore | LoggedAct;

export interface DecisionFilter {
  readonly namespace?: string | undefined;
  readonly pod?: string | undefined;
  /** @default all */
  readonly kind?: DecisionKind | undefined;
  readonly limit: number;
}

/** What became of a decision. */
export type DecisionOutcome = NonNullable<Decision["outcome"]>;

/** The last decisions: the oldest of the namespace with the most of them makes room for a new one, and a pod that is asked about again and again for its own. */
export class DecisionLog {
  readonly #kept: FairMap<LoggedDecision>;
  readonly #outcomes = new Map<string, DecisionOutcome>();

  constructor(capacity: number) {
    this.#kept = new FairMap(capacity, ({ pod }) => ({ namespace: pod.namespace, owner: pod.name }));
  }

  add(decision: LoggedDecision): void {
    const dropped = this.#kept.set(decision.id, decision);
    if (dropped !== null) this.#outcomes.delete(dropped);
  }

  /** Says what became of a decision; of one that is no longer kept nothing is. */
  conclude(id: string, outcome: DecisionOutcome): void {
    if (this.#kept.has(id)) this.#outcomes.set(id, outcome);
  }

  get(id: string): Decision | undefined {
    const found = this.#kept.get(id);
    return found === undefined ? undefined : this.#show(found);
  }

  /** Newest first. */
  find({ namespace, pod, kind, limit }: DecisionFilter): Decision[] {
    const found: Decision[] = [];
    for (const [, decision] of Array.from(this.#kept.entries()).reverse()) {
      if (found.length >= limit) break;
      if (namespace !== undefined && decision.pod.namespace !== namespace) continue;
      if (pod !== undefined && decision.pod.name !== pod) continue;
      if (kind !== undefined && kindOf(decision) !== kind) continue;
      found.push(this.#show(decision));
    }
    return found;
  }

  #show(decision: LoggedDecision): Decision {
    const { id, pod } = decision;
    const shown = "show" in decision ? decision.show() : shownScore(decision);
    const outcome = this.#outcomes.get(id);
    return { ...shown, id, kind: kindOf(decision), pod, ...(outcome === undefined ? {} : { outcome }) };
  }
}

function kindOf(decision: LoggedDecision): DecisionKind {
  return "kind" in decision ? decision.kind : "score";
}

function shownScore({
  atMs,
  workflow,
  workload,
  note,
  candidates,
}: LoggedScore): ReturnType<LoggedAct["show"]> {
  const { strategy, mode, explanation } = candidates;
  return {
    at: new Date(atMs).toISOString(),
    workflow,
    workload,
    strategy,
    mode,
    inputs: explanation.inputs,
    explanation: [...explanation.sentences, ...(typeof note === "string" ? [note] : [])],
    best: explanation.best,
    candidates: allCandidates(rankedTable(candidates)),
  };
}

import type { Decision, DecisionNow } from "@isochrone/topology";
import type { GraphSource } from "../ports/ports.ts";
import { bindingOf } from "./binding-reason.ts";
import type { CurrentScores, Question } from "./current-scores.ts";
import { changesOf, shownPeers } from "./decision-changes.ts";
import { kindOf } from "./decision-log.ts";
import type { DecisionFilter, DecisionLog, LoggedDecision } from "./decision-log.ts";
import type { Times } from "./placer.ts";
import type { PodPlace } from "./pod-places.ts";

interface DecisionViewParts {
  readonly decisions: DecisionLog;
  readonly graphs: Pick<GraphSource, "workflow">;
  readonly scores: CurrentScores;
  readonly followsPods: boolean;
}

/** Each costs a scoring of all nodes. */
export const MAX_ASKED_AGAIN = 20;

export class DecisionView {
  readonly #parts: DecisionViewParts;

  constructor(parts: DecisionViewParts) {
    this.#parts = parts;
  }

  find(filter: DecisionFilter, times: Times | null): Decision[] {
    const { decisions } = this.#parts;
    const limit = times === null ? filter.limit : Math.min(filter.limit, MAX_ASKED_AGAIN);
    return decisions.select({ ...filter, limit }).map((logged) => {
      const decision = this.#withBinding(logged);
      return times === null ? decision : this.#withNow(decision, logged, times);
    });
  }

  get(id: string): Decision | undefined {
    return this.find({ id, limit: 1 }, null)[0];
  }

  #withBinding(logged: LoggedDecision): Decision {
    const decision = this.#parts.decisions.show(logged);
    const place = this.#placeOf(decision, logged);
    if (place === null) return decision;
    const { siblingsOnBest = 0, planned = null } = logged;
    const facts = { place, siblingsOnBest, isPlanned: planned !== null };
    return { ...decision, binding: bindingOf(decision, facts) };
  }

  #placeOf({ workflow, pod }: Decision, logged: LoggedDecision): PodPlace | null {
    const { decisions, graphs, followsPods } = this.#parts;
    if (followsPods) return decisions.placeOf(logged);
    const name = workflow?.slice(pod.namespace.length + 1);
    const node =
      name === undefined ? undefined : graphs.workflow(pod.namespace, name)?.nodeOf(pod.namespace, pod.name);
    return node === undefined ? null : { state: "bound", node, atMs: null };
  }

  #withNow(decision: Decision, logged: LoggedDecision, times: Times): Decision {
    const { identity } = logged;
    const { peers = null } = logged;
    const names = new Set(decision.candidates.map(({ name }) => name));
    const then = { ...decision, ...(peers === null ? {} : { peers: shownPeers(peers, names) }) };
    if (identity === undefined) return then;
    const { binding } = decision;
    const node = binding?.state === "bound" ? binding.node : null;
    const candidates = isWhole(decision, logged) ? [...names] : null;
    const question: Question = { identity, workload: decision.workload, candidates, node };
    return { ...then, now: this.#now({ best: decision.best, peers }, question, times) };
  }

  #now(then: Parameters<typeof changesOf>[0], question: Question, times: Times): DecisionNow {
    const answer = this.#parts.scores.answer(question, times);
    const { links, sentences } = changesOf(then, answer, question.node);
    return {
      at: new Date(times.nowMs).toISOString(),
      inputs: answer.inputs,
      explanation: [...answer.explanation],
      best: answer.best,
      candidates: [...answer.candidates],
      peers: shownPeers(answer.peers, new Set(answer.candidates.map(({ name }) => name))),
      links: [...links],
      changes: [...sentences],
    };
  }
}

/** True if all nodes of the question are still known; else it can't be repeated exactly. */
function isWhole({ candidates, asked }: Decision, logged: LoggedDecision): boolean {
  return kindOf(logged) === "score" && asked === candidates.length;
}

import {
  allCandidates,
  ColumnPool,
  keptRows,
  peerCosts,
  rankedTable,
  rejectedNodes,
} from "@isochrone/placement";
import type { PeerCosts, PlacementProblem, Strategy } from "@isochrone/placement";
import type { Candidate, Decision } from "@isochrone/topology";
import type { GraphSource } from "../ports/ports.ts";
import { withNetworkSentence, withNetworkTime } from "./decision-log.ts";
import type { Ledger } from "./ledger.ts";
import { problemOf, workloadIn } from "./placer.ts";
import type { Times } from "./placer.ts";
import type { PodIdentity } from "./pod.ts";
import { entryOf, usedBy } from "./reserved-use.ts";

interface CurrentScoresParts {
  readonly graphs: GraphSource;
  /** Its own instance: the extender's strategy remembers waiting pods. */
  readonly strategy: Strategy;
  readonly usageHeadroom?: boolean;
  readonly ledger: Ledger;
}

export interface Question {
  readonly identity: PodIdentity;
  /** Workload name at decision time; the current graph may know a better one. */
  readonly workload: string | null;
  readonly candidates: readonly string[] | null;
  readonly node: string | null;
}

interface CurrentAnswer {
  readonly inputs: Decision["inputs"];
  readonly explanation: readonly string[];
  readonly best: string | null;
  readonly candidates: readonly Candidate[];
  readonly peers: PeerCosts | null;
}

export class CurrentScores {
  readonly #parts: CurrentScoresParts;
  readonly #pool = new ColumnPool();

  constructor(parts: CurrentScoresParts) {
    this.#parts = parts;
  }

  /** Scores as if the pod weren't placed yet: its node gets no penalty for it. */
  answer(question: Question, { nowMs, monotonicMs }: Times): CurrentAnswer {
    const { graphs, ledger } = this.#parts;
    const { namespace, name } = question.identity;
    ledger.expire(monotonicMs);
    ledger.settle((ofNamespace, workflow) => graphs.workflow(ofNamespace, workflow));
    return ledger.without(namespace, name, () => this.#score(question, nowMs));
  }

  #score(question: Question, nowMs: number): CurrentAnswer {
    const { strategy, graphs, usageHeadroom = false } = this.#parts;
    const problem = this.#problem(question, nowMs);
    const infeasible = rejectedNodes(strategy, problem, { usageHeadroom });
    const table = strategy.score({ ...problem, infeasible }, this.#pool);
    const { explanation } = table;
    const kept = keptRows(table);
    const candidates = allCandidates(rankedTable(kept));
    const { node } = question;
    const missing = node !== null && !candidates.some((candidate) => candidate.name === node);
    // Always include the pod's node, however many nodes are better.
    const own = missing ? allCandidates(table).filter((candidate) => candidate.name === node) : [];
    const shown = [...candidates, ...own];
    const names = shown.map((candidate) => candidate.name);
    const peers = peerCosts(problem, names);
    const note = graphs.note?.() ?? null;
    const timed = withNetworkTime(shown, peers);
    return {
      inputs: explanation.inputs,
      explanation: [...withNetworkSentence(explanation.sentences, timed), ...(note === null ? [] : [note])],
      best: explanation.best,
      candidates: timed,
      peers,
    };
  }

  #problem({ identity, workload, candidates, node }: Question, nowMs: number): PlacementProblem {
    const { graphs, ledger } = this.#parts;
    const cluster = graphs.cluster();
    const workflow = graphs.workflow(identity.namespace, identity.workflow);
    const nodes = cluster?.nodes ?? [];
    const ready = nodes.filter((each) => (each.ready && !each.cordoned) || each.name === node);
    const there = candidates?.filter((name) => cluster === null || cluster.idOf(name) >= 0);
    const names = there ?? ready.map((each) => each.name);
    const known = { cluster, workflow, ledger };
    const current = workloadIn(workflow, identity) ?? workload;
    const problem = problemOf(identity, current, withNode(names, node), known, nowMs);
    // Usage that isn't measured yet can't be subtracted.
    if (node === null || workflow?.nodeOf(identity.namespace, identity.name) !== node) return problem;
    const use = usedBy(entryOf(identity, node, workflow, cluster), workflow);
    const own = { cpuMillicores: use.cpuMillicores ?? 0, memoryBytes: use.memoryBytes ?? 0 };
    return { ...problem, released: new Map([[node, own]]) };
  }
}

function withNode(names: readonly string[], node: string | null): readonly string[] {
  return node === null || names.includes(node) ? names : [...names, node];
}

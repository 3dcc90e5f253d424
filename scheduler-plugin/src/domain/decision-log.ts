import { allCandidates, rankedTable } from "@isochrone/placement";
import type { PeerCosts, ScoreTable } from "@isochrone/placement";
import type { Candidate, Decision, DecisionKind, DecisionProfile } from "@isochrone/topology";
import { FairMap } from "./fair-map.ts";
import type { PodIdentity } from "./pod.ts";
import { PodPlaces } from "./pod-places.ts";
import type { HeldPlace, PodPlace, PodRef } from "./pod-places.ts";

/**
 * What is kept of a pod's score. Most are never looked at, so the objects that the API shows are made when
 * somebody asks.
 */
export interface LoggedScore {
  readonly id: string;
  /** Wall clock, milliseconds. */
  readonly atMs: number;
  readonly identity: PodIdentity;
  readonly workflow: string;
  readonly workload: string | null;
  /** What to know beside the strategy's own explanation; null = nothing. */
  readonly note?: string | null;
  /** At least the candidates that are shown, in no order. */
  readonly candidates: ScoreTable;
  /** Nodes that the question named. */
  readonly asked: number;
  /** Of the rows of `candidates`; null: no peer is known. */
  readonly peers: PeerCosts | null;
  /** Pods of the same workload that were on the best node. */
  readonly siblingsOnBest: number;
  /** The node that was preferred because a plan puts the pod there; absent: by score. */
  readonly planned?: string | null;
}

/** A plan or an eviction: rare beside scores, and kept as the API shows it, or made when somebody asks. */
export interface LoggedAct {
  readonly id: string;
  readonly kind: Exclude<DecisionKind, "score">;
  readonly pod: PodRef;
  /** Of a pod that scores can be worked out for; absent: for none. */
  readonly identity?: PodIdentity;
  /** Of the candidates that it shows. @default null */
  readonly peers?: PeerCosts | null;
  /** Without `id`, `kind`, `pod` and `outcome`, which the log adds. */
  readonly show: () => Omit<Decision, "id" | "kind" | "pod" | "outcome">;
}

export type LoggedDecision = LoggedScore | LoggedAct;

export interface DecisionFilter {
  readonly id?: string | undefined;
  readonly namespace?: string | undefined;
  readonly pod?: string | undefined;
  /** @default all */
  readonly kind?: DecisionKind | undefined;
  readonly limit: number;
}

/** What became of a decision. */
type DecisionOutcome = NonNullable<Decision["outcome"]>;

interface Kept {
  readonly decision: LoggedDecision;
  readonly held: HeldPlace;
}

/**
 * The last decisions: the oldest of the namespace with the most of them makes room for a new one, and a pod
 * that is asked about again and again for its own.
 */
export class DecisionLog {
  readonly #profile: DecisionProfile | null;
  readonly #kept: FairMap<Kept>;
  readonly #outcomes = new Map<string, DecisionOutcome>();
  readonly #places = new PodPlaces();

  /** @param profile what all scores are made with; null: it isn't said */
  constructor(capacity: number, profile: DecisionProfile | null = null) {
    this.#profile = profile;
    this.#kept = new FairMap(capacity, ({ decision }) => {
      const { namespace, name } = podOf(decision);
      return { namespace, owner: name };
    });
  }

  /** @param place of the pod, where it is known already */
  add(decision: LoggedDecision, place: PodPlace | null = null): void {
    const held = this.#places.hold(podOf(decision), place);
    const dropped = this.#kept.set(decision.id, { decision, held });
    if (dropped === null) return;
    this.#outcomes.delete(dropped.key);
    this.#places.release(dropped.value.held);
  }

  /** The cluster shows the pod on that node. */
  bound(pod: PodRef, node: string, atMs: number): void {
    this.#places.bound(pod, node, atMs);
  }

  /** The cluster shows the pod as ended, or no longer. */
  gone(pod: PodRef): void {
    this.#places.gone(pod);
  }

  /** Where the cluster showed the decision's pod last. */
  placeOf(decision: LoggedDecision): PodPlace {
    return this.#places.of(podOf(decision));
  }

  /** Says what became of a decision; of one that is no longer kept nothing is. */
  conclude(id: string, outcome: DecisionOutcome): void {
    if (this.#kept.has(id)) this.#outcomes.set(id, outcome);
  }

  get(id: string): Decision | undefined {
    const found = this.#kept.get(id);
    return found === undefined ? undefined : this.show(found.decision);
  }

  /** Newest first. */
  find(filter: DecisionFilter): Decision[] {
    return this.select(filter).map((decision) => this.show(decision));
  }

  /** As they are kept, newest first. */
  select({ id, namespace, pod, kind, limit }: DecisionFilter): LoggedDecision[] {
    const found: LoggedDecision[] = [];
    for (const [, { decision }] of Array.from(this.#kept.entries()).reverse()) {
      if (found.length >= limit) break;
      const { namespace: ofNamespace, name } = podOf(decision);
      if (id !== undefined && decision.id !== id) continue;
      if (namespace !== undefined && ofNamespace !== namespace) continue;
      if (pod !== undefined && name !== pod) continue;
      if (kind !== undefined && kindOf(decision) !== kind) continue;
      found.push(decision);
    }
    return found;
  }

  /** As the API shows it. */
  show(decision: LoggedDecision): Decision {
    const { id } = decision;
    const { namespace, name } = podOf(decision);
    const shown = "show" in decision ? shownAct(decision) : shownScore(decision, this.#profile);
    const outcome = this.#outcomes.get(id);
    return {
      ...shown,
      id,
      kind: kindOf(decision),
      pod: { namespace, name },
      ...(outcome === undefined ? {} : { outcome }),
    };
  }
}

function podOf(decision: LoggedDecision): PodRef {
  return "kind" in decision ? decision.pod : decision.identity;
}

function kindOf(decision: LoggedDecision): DecisionKind {
  return "kind" in decision ? decision.kind : "score";
}

function shownAct({ show, peers = null }: LoggedAct): ReturnType<LoggedAct["show"]> {
  const made = show();
  return { ...made, candidates: withNetworkTime(made.candidates, peers) };
}

function shownScore(
  { atMs, workflow, workload, note, candidates: kept, asked, peers, planned }: LoggedScore,
  profile: DecisionProfile | null,
): ReturnType<LoggedAct["show"]> {
  const { strategy, mode, explanation } = kept;
  const candidates = withNetworkTime(allCandidates(rankedTable(kept)), peers);
  return {
    at: new Date(atMs).toISOString(),
    workflow,
    workload,
    strategy,
    mode,
    ...(profile === null ? {} : { profile }),
    inputs: explanation.inputs,
    explanation: [
      ...withNetworkSentence(explanation.sentences, candidates),
      ...(typeof note === "string" ? [note] : []),
    ],
    best: planned ?? explanation.best,
    candidates,
    asked,
  };
}

/** Adds what a request takes on the network from each candidate, where that is known. */
export function withNetworkTime(candidates: readonly Candidate[], peers: PeerCosts | null): Candidate[] {
  if (peers === null) return [...candidates];
  const rows = new Map(peers.names.map((name, row) => [name, row]));
  return candidates.map((candidate) => {
    const ms = peers.networkMs[rows.get(candidate.name) ?? -1] ?? Number.NaN;
    return { ...candidate, networkMs: Number.isFinite(ms) ? ms : null };
  });
}

/** After the first sentence: what the score means to the pod's requests. @param candidates the best first */
export function withNetworkSentence(
  [first = "", ...rest]: readonly string[],
  candidates: readonly Candidate[],
): string[] {
  const [best, second] = candidates.filter(({ feasible }) => feasible);
  if (typeof best?.networkMs !== "number") return [first, ...rest];
  const beside =
    typeof second?.networkMs === "number" ? `, ${shortMs(second.networkMs)} on ${second.name}` : "";
  const sentence = `A request of the pod takes ${shortMs(best.networkMs)} on the network on ${best.name}${beside}.`;
  return [first, sentence, ...rest];
}

/** Three digits are more than anybody compares. */
export function shortMs(ms: number): string {
  return `${ms >= 100 ? Math.round(ms) : Number(ms.toFixed(ms >= 10 ? 1 : 2))} ms`;
}

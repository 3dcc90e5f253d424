import { allCandidates, rankedTable } from "@isochrone/placement";
import type { PeerCosts, ScoreTable } from "@isochrone/placement";
import type { Candidate, Decision, DecisionKind, DecisionProfile } from "@isochrone/topology";
import { compareIds } from "./decision-ids.ts";
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

/**
 * A plan, an eviction, or any decision of another replica: kept as the API shows it, or made when somebody
 * asks.
 */
export interface LoggedAct {
  readonly id: string;
  readonly kind: DecisionKind;
  readonly pod: PodRef;
  /** Of a pod that scores can be worked out for; absent: for none. */
  readonly identity?: PodIdentity;
  /** Of the candidates that it shows. @default null */
  readonly peers?: PeerCosts | null;
  /** As of {@link LoggedScore}. @default 0 */
  readonly siblingsOnBest?: number;
  /** As of {@link LoggedScore}. @default null */
  readonly planned?: string | null;
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

/** A decision as it goes from one replica to another. */
export interface SharedDecision {
  readonly decision: LoggedDecision;
  /** Name of the replica that decided; null: the only one. */
  readonly replica: string | null;
  readonly place: PodPlace;
  readonly outcome: DecisionOutcome | undefined;
}

interface Kept {
  readonly decision: LoggedDecision;
  readonly held: HeldPlace;
  /** Wall clock of the decision, milliseconds. */
  readonly atMs: number;
  readonly replica: string | null;
  /** Life of the replica that the last change was copied from; null: it was made here. */
  from: string | null;
  /** Counts the changes of this log: that of the entry's last change. */
  seq: number;
}

/**
 * The last decisions of all replicas: the oldest of the namespace with the most of them makes room for a new
 * one, and a pod that is asked about again and again for its own.
 */
export class DecisionLog {
  readonly #profile: DecisionProfile | null;
  readonly #replica: string | null;
  readonly #kept: FairMap<Kept>;
  readonly #outcomes = new Map<string, DecisionOutcome>();
  readonly #places = new PodPlaces();
  #seq = 0;

  /**
   * @param profile what all scores are made with; null: it isn't said
   * @param replica name of this replica; null: it is the only one
   */
  constructor(capacity: number, profile: DecisionProfile | null = null, replica: string | null = null) {
    this.#profile = profile;
    this.#replica = replica;
    const shareOf = ({ decision }: Kept): { namespace: string; owner: string } => {
      const { namespace, name } = podOf(decision);
      return { namespace, owner: name };
    };
    this.#kept = new FairMap(capacity, shareOf, compareAge);
  }

  /** @param place of the pod, where it is known already */
  add(decision: LoggedDecision, place: PodPlace | null = null): void {
    this.#keep(decision, place, { replica: this.#replica, from: null });
  }

  /**
   * Keeps a decision of another replica. Of one that is known already only its outcome and the pod's place
   * count. Returns whether anything changed.
   * @param from life of the replica that sent it
   */
  copy({ decision, replica, place, outcome }: SharedDecision, from: string): boolean {
    const isNew = !this.#kept.has(decision.id);
    if (isNew && !this.#keep(decision, place, { replica, from })) return false;
    this.#places.learn(podOf(decision), place);
    const known = this.#outcomes.get(decision.id);
    const isNews =
      outcome !== undefined &&
      (known === undefined ||
        Date.parse(outcome.at) > Date.parse(known.at) ||
        (outcome.measured !== undefined && known.measured === undefined));
    if (isNews) this.#conclude(decision.id, outcome, from);
    return isNew || isNews;
  }

  /** What changed after `seq` and wasn't copied from `life`, in the order of the changes. */
  changes(seq: number, life: string): (SharedDecision & { readonly seq: number })[] {
    return Array.from(this.#kept.entries(), ([id, kept]) => ({
      seq: kept.seq,
      from: kept.from,
      decision: kept.decision,
      replica: kept.replica,
      place: kept.held.place,
      outcome: this.#outcomes.get(id),
    }))
      .filter((each) => each.seq > seq && each.from !== life)
      .sort((a, b) => a.seq - b.seq);
  }

  /** Counts the changes so far. */
  get seq(): number {
    return this.#seq;
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
    this.#conclude(id, outcome, null);
  }

  /** The channels of a moved pod were measured again. */
  measured(id: string, afterMs: number): void {
    const known = this.#outcomes.get(id);
    if (known !== undefined) this.conclude(id, { ...known, measured: { afterMs } });
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
    const replica = this.#kept.get(id)?.replica ?? null;
    return {
      ...shown,
      id,
      kind: kindOf(decision),
      pod: { namespace, name },
      ...(replica === null ? {} : { replica }),
      ...(outcome === undefined ? {} : { outcome }),
    };
  }

  #conclude(id: string, outcome: DecisionOutcome, from: string | null): void {
    const kept = this.#kept.get(id);
    if (kept === undefined) return;
    this.#outcomes.set(id, outcome);
    kept.seq = ++this.#seq;
    kept.from = from;
  }

  /** False: there is no room for one as old as this. */
  #keep(
    decision: LoggedDecision,
    place: PodPlace | null,
    origin: { readonly replica: string | null; readonly from: string | null },
  ): boolean {
    const held = this.#places.hold(podOf(decision), place);
    const kept: Kept = { decision, held, atMs: atMsOf(decision), ...origin, seq: ++this.#seq };
    const dropped = this.#kept.set(decision.id, kept);
    if (dropped === null) return true;
    this.#outcomes.delete(dropped.key);
    this.#places.release(dropped.value.held);
    return dropped.key !== decision.id;
  }
}

/** The same on all replicas, in whatever order decisions reach them. */
function compareAge(a: Kept, b: Kept): number {
  return a.atMs - b.atMs || compareIds(a.decision.id, b.decision.id);
}

function atMsOf(decision: LoggedDecision): number {
  return "kind" in decision ? Date.parse(decision.show().at) : decision.atMs;
}

export function podOf(decision: LoggedDecision): PodRef {
  return "kind" in decision ? decision.pod : decision.identity;
}

export function kindOf(decision: LoggedDecision): DecisionKind {
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

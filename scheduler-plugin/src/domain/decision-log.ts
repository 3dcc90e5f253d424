import { allCandidates, rankedTable } from "@isochrone/placement";
import type { PeerCosts, ScoreTable } from "@isochrone/placement";
import type { Candidate, Decision, DecisionKind, DecisionProfile } from "@isochrone/topology";
import { compareIds } from "./decision-ids.ts";
import { FairMap } from "./fair-map.ts";
import type { PodIdentity } from "./pod.ts";
import { PodPlaces } from "./pod-places.ts";
import type { HeldPlace, PodPlace, PodRef } from "./pod-places.ts";

/** The score of a pod as stored. Few are viewed, so the API's objects are built on request. */
export interface LoggedScore {
  readonly id: string;
  readonly atMs: number;
  readonly identity: PodIdentity;
  readonly workflow: string;
  readonly workload: string | null;
  readonly note?: string | null;
  /** At least the candidates to show, unordered. */
  readonly candidates: ScoreTable;
  readonly asked: number;
  /** Indexed by row of `candidates`; null if no peer is known. */
  readonly peers: PeerCosts | null;
  readonly siblingsOnBest: number;
  /** Node preferred because of a plan; absent if by score. */
  readonly planned?: string | null;
}

/** A plan, an eviction, or another replica's decision: stored as the API shows it, or built on request. */
export interface LoggedAct {
  readonly id: string;
  readonly kind: DecisionKind;
  readonly pod: PodRef;
  readonly identity?: PodIdentity;
  readonly peers?: PeerCosts | null;
  readonly siblingsOnBest?: number;
  readonly planned?: string | null;
  readonly show: () => Omit<Decision, "id" | "kind" | "pod" | "outcome">;
}

export type LoggedDecision = LoggedScore | LoggedAct;

export interface DecisionFilter {
  readonly id?: string | undefined;
  readonly namespace?: string | undefined;
  readonly pod?: string | undefined;
  readonly kind?: DecisionKind | undefined;
  readonly limit: number;
}

type DecisionOutcome = NonNullable<Decision["outcome"]>;

export interface SharedDecision {
  readonly decision: LoggedDecision;
  readonly replica: string | null;
  readonly place: PodPlace;
  readonly outcome: DecisionOutcome | undefined;
}

interface Kept {
  readonly decision: LoggedDecision;
  readonly held: HeldPlace;
  readonly atMs: number;
  readonly replica: string | null;
  from: string | null;
  seq: number;
}

/**
 * The last decisions of all replicas. A new one evicts the oldest of the namespace with the most, or of its
 * own pod if that pod has many.
 */
export class DecisionLog {
  readonly #profile: DecisionProfile | null;
  readonly #replica: string | null;
  readonly #kept: FairMap<Kept>;
  readonly #outcomes = new Map<string, DecisionOutcome>();
  readonly #places = new PodPlaces();
  #seq = 0;

  constructor(capacity: number, profile: DecisionProfile | null = null, replica: string | null = null) {
    this.#profile = profile;
    this.#replica = replica;
    const shareOf = ({ decision }: Kept): { namespace: string; owner: string } => {
      const { namespace, name } = podOf(decision);
      return { namespace, owner: name };
    };
    this.#kept = new FairMap(capacity, shareOf, compareAge);
  }

  add(decision: LoggedDecision, place: PodPlace | null = null): void {
    this.#keep(decision, place, { replica: this.#replica, from: null });
  }

  /**
   * Adds another replica's decision. For a known one, updates only outcome and place. Returns whether
   * anything changed.
   * @param from life of the sending replica
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

  /** Returns changes after `seq` that weren't copied from `life`, in order. */
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

  get seq(): number {
    return this.#seq;
  }

  bound(pod: PodRef, node: string, atMs: number): void {
    this.#places.bound(pod, node, atMs);
  }

  gone(pod: PodRef): void {
    this.#places.gone(pod);
  }

  placeOf(decision: LoggedDecision): PodPlace {
    return this.#places.of(podOf(decision));
  }

  conclude(id: string, outcome: DecisionOutcome): void {
    this.#conclude(id, outcome, null);
  }

  measured(id: string, afterMs: number): void {
    const known = this.#outcomes.get(id);
    if (known !== undefined) this.conclude(id, { ...known, measured: { afterMs } });
  }

  get(id: string): Decision | undefined {
    const found = this.#kept.get(id);
    return found === undefined ? undefined : this.show(found.decision);
  }

  find(filter: DecisionFilter): Decision[] {
    return this.select(filter).map((decision) => this.show(decision));
  }

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

  /** Returns false if it is older than everything in a full log. */
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

/** Total order that all replicas share, whatever the order of arrival. */
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

export function withNetworkTime(candidates: readonly Candidate[], peers: PeerCosts | null): Candidate[] {
  if (peers === null) return [...candidates];
  const rows = new Map(peers.names.map((name, row) => [name, row]));
  return candidates.map((candidate) => {
    const ms = peers.networkMs[rows.get(candidate.name) ?? -1] ?? Number.NaN;
    return { ...candidate, networkMs: Number.isFinite(ms) ? ms : null };
  });
}

/**
 * Inserts after the first sentence what the score means for the pod's requests. @param candidates best first
 */
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

/** Three significant digits. */
export function shortMs(ms: number): string {
  return `${ms >= 100 ? Math.round(ms) : Number(ms.toFixed(ms >= 10 ? 1 : 2))} ms`;
}

// What is kept of a decision: a place in the ledger, an entry in the log, an Event. A question alone proves
// nothing: it is kept only when the cluster itself shows a pending pod of that name and UID.
import type { Explanation } from "@isochrone/placement";
import type { WorkflowGraph } from "@isochrone/topology";
import type { GraphSource } from "../ports/ports.ts";
import type { DecisionLog, LoggedScore } from "./decision-log.ts";
import { FairMap } from "./fair-map.ts";
import type { Ledger } from "./ledger.ts";
import { MAX_NAME_CHARACTERS } from "./pod.ts";
import type { PodIdentity } from "./pod.ts";
import { entryOf } from "./reserved-use.ts";

/**
 * How the cluster shows a pod that somebody asks about. `pending`: it has no node yet, and this is what the
 * cluster says of it. `unseen`: there is none of this name and UID, or not yet. `settled`: it has a node, has
 * ended or is going.
 */
export type Standing =
  | { readonly kind: "pending"; readonly identity: PodIdentity }
  | { readonly kind: "unseen" | "settled" };

/** Why a decision isn't kept: a metric's label. */
type UnrecordedReason = "settled" | "unconfirmed" | "crowded" | "misshapen";

interface MadeDecision {
  readonly pod: PodIdentity;
  readonly explanation: Explanation;
  readonly logged: LoggedScore;
  /** Where to reserve room; null: nothing tells nodes apart. */
  readonly node: string | null;
  /** Monotonic milliseconds. */
  readonly atMs: number;
}

interface DecisionRecorderParts {
  readonly graphs: Pick<GraphSource, "cluster" | "workflow">;
  readonly ledger: Ledger;
  readonly decisions: DecisionLog;
  /** How the cluster shows a pod; null: there is no cluster to ask, and questions are believed. */
  readonly standingOf: ((pod: PodIdentity) => Standing) | null;
  /** A decision by score is kept. */
  readonly onRecorded?: (explanation: Explanation, pod: PodIdentity) => void;
  readonly onUnrecorded?: (reason: UnrecordedReason) => void;
}

/**
 * So long a decision waits for the cluster to show its pod: kube-scheduler may hear of a pod some
 * milliseconds before us.
 */
const CONFIRM_WITHIN_MS = 5_000;
/** Of all namespaces together: what kube-scheduler decides in two seconds at most. */
const MAX_UNCONFIRMED = 1_000;

export class DecisionRecorder {
  readonly #parts: DecisionRecorderParts;
  /** By namespace/pod, oldest first. They count for nobody. */
  readonly #unconfirmed = new FairMap<MadeDecision>(MAX_UNCONFIRMED, ({ pod }) => ({
    namespace: pod.namespace,
    owner: pod.name,
  }));

  constructor(parts: DecisionRecorderParts) {
    this.#parts = parts;
  }

  standingOf(pod: PodIdentity): Standing {
    return this.#parts.standingOf?.(pod) ?? { kind: "pending", identity: pod };
  }

  /** @param standing of the pod when the question came */
  decided(made: MadeDecision, standing: Standing): void {
    this.expire(made.atMs);
    if (!isBounded(made)) return this.#dropped("misshapen");
    if (standing.kind === "pending") return this.#record(made, standing.identity);
    // Nobody can show later that a pod without a UID is the one that was asked about.
    if (standing.kind === "settled" || made.pod.uid === "") return this.#dropped("settled");
    if (this.#unconfirmed.set(keyOf(made.pod), made) !== null) this.#dropped("crowded");
  }

  /** The cluster shows the pod, as this. */
  shown(pod: PodIdentity, isPending: boolean): void {
    const key = keyOf(pod);
    const made = this.#unconfirmed.get(key);
    if (made === undefined || made.pod.uid !== pod.uid) return;
    this.#unconfirmed.delete(key);
    this.#record(isPending ? made : { ...made, node: null }, pod);
  }

  /** Drops what the cluster did not show in time. */
  expire(nowMs: number): void {
    for (let first = this.#unconfirmed.oldest; first !== null; first = this.#unconfirmed.oldest) {
      if (nowMs - first.value.atMs < CONFIRM_WITHIN_MS) return;
      this.#unconfirmed.delete(first.key);
      this.#dropped("unconfirmed");
    }
  }

  /** What takes room, and whose it is, is the cluster's word, not the question's. */
  #record({ explanation, logged, node, atMs }: MadeDecision, pod: PodIdentity): void {
    const { ledger, decisions, graphs, onRecorded } = this.#parts;
    // The names that a question gave are not taken for the pod's.
    decisions.add(logged.identity === pod ? logged : { ...logged, identity: pod });
    // What became of a plan is the planner's to tell.
    if ((logged.planned ?? null) === null) onRecorded?.(explanation, pod);
    if (node === null) return;
    const graph: WorkflowGraph | null = graphs.workflow(pod.namespace, pod.workflow);
    ledger.record(entryOf(pod, node, graph, graphs.cluster()), graph, atMs);
  }

  #dropped(reason: UnrecordedReason): void {
    this.#parts.onUnrecorded?.(reason);
  }
}

function keyOf({ namespace, name }: PodIdentity): string {
  return `${namespace}/${name}`;
}

/** Whether all names in it are ones that Kubernetes could have given. */
function isBounded({ logged }: MadeDecision): boolean {
  const { names } = logged.candidates;
  return names.every((name) => name.length <= MAX_NAME_CHARACTERS);
}

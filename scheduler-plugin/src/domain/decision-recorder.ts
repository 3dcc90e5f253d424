// Records a decision in the ledger, the log and as an Event. Requests can be forged, so it is recorded only
// if the cluster shows a pending pod of that name and UID.
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
 * State of the asked pod in the cluster. `pending`: no node yet; with the cluster's identity. `unseen`: no
 * pod of this name and UID (yet). `settled`: has a node, has ended or is terminating.
 */
export type Standing =
  | { readonly kind: "pending"; readonly identity: PodIdentity }
  | { readonly kind: "unseen" | "settled" };

type UnrecordedReason = "settled" | "unconfirmed" | "crowded" | "misshapen";

interface MadeDecision {
  readonly pod: PodIdentity;
  readonly explanation: Explanation;
  readonly logged: LoggedScore;
  readonly node: string | null;
  readonly atMs: number;
}

interface DecisionRecorderParts {
  readonly graphs: Pick<GraphSource, "cluster" | "workflow">;
  readonly ledger: Ledger;
  readonly decisions: DecisionLog;
  /** null: there is no cluster, and questions are believed. */
  readonly standingOf: ((pod: PodIdentity) => Standing) | null;
  readonly onRecorded?: (explanation: Explanation, pod: PodIdentity) => void;
  readonly onUnrecorded?: (reason: UnrecordedReason) => void;
}

/** How long a decision waits for its pod: kube-scheduler's watch may be milliseconds ahead of ours. */
const CONFIRM_WITHIN_MS = 5_000;
/** Over all namespaces: kube-scheduler's decisions of two seconds at most. */
const MAX_UNCONFIRMED = 1_000;

export class DecisionRecorder {
  readonly #parts: DecisionRecorderParts;
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

  decided(made: MadeDecision, standing: Standing): void {
    this.expire(made.atMs);
    if (!isBounded(made)) return this.#dropped("misshapen");
    if (standing.kind === "pending") return this.#record(made, standing.identity);
    // A pod without a UID can't be confirmed later.
    if (standing.kind === "settled" || made.pod.uid === "") return this.#dropped("settled");
    if (this.#unconfirmed.set(keyOf(made.pod), made) !== null) this.#dropped("crowded");
  }

  shown(pod: PodIdentity, isPending: boolean): void {
    const key = keyOf(pod);
    const made = this.#unconfirmed.get(key);
    if (made === undefined || made.pod.uid !== pod.uid) return;
    this.#unconfirmed.delete(key);
    this.#record(isPending ? made : { ...made, node: null }, pod);
  }

  expire(nowMs: number): void {
    for (let first = this.#unconfirmed.oldest; first !== null; first = this.#unconfirmed.oldest) {
      if (nowMs - first.value.atMs < CONFIRM_WITHIN_MS) return;
      this.#unconfirmed.delete(first.key);
      this.#dropped("unconfirmed");
    }
  }

  /** Requests and owner come from the cluster, not from the question. */
  #record({ explanation, logged, node, atMs }: MadeDecision, pod: PodIdentity): void {
    const { ledger, decisions, graphs, onRecorded } = this.#parts;
    // Store the cluster's names, not the question's.
    decisions.add(logged.identity === pod ? logged : { ...logged, identity: pod });
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

/** True if Kubernetes could have issued all names. */
function isBounded({ logged }: MadeDecision): boolean {
  const { names } = logged.candidates;
  return names.every((name) => name.length <= MAX_NAME_CHARACTERS);
}

// Moves from the eviction until their channels were measured again. Pure: what the cluster shows and the time
// come in as arguments.
import { hasCondition, moveOwnerOf } from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import type { KubernetesObject, ObjectRef, PodSpec } from "@isochrone/kubernetes";
import type { ChannelLatency } from "@isochrone/placement";
import type { MoveOutcome } from "./decision/metrics.ts";

export interface StartedMove {
  /** Of the decision that it carries out. */
  readonly id: string;
  readonly owner: ObjectRef & { readonly uid: string };
  readonly namespace: string;
  readonly pod: string;
  readonly podUid: string;
  /** Name of the workflow, in the pod's namespace. */
  readonly workflow: string;
  /** As the workflow graph calls it. */
  readonly workload: string;
  readonly from: string;
  readonly to: string;
  /** Wall clock, milliseconds. */
  readonly atMs: number;
  readonly deadlineMs: number;
  readonly coolDownMs: number;
  /** Uids of the controller's pods when it began: none of them is the replacement. */
  readonly siblings: ReadonlySet<string>;
  /**
   * The pod's channels from where it was and from where it is to be, when it was decided; null: the graphs
   * didn't say.
   */
  readonly before: ChannelLatency | null;
  readonly expected: ChannelLatency | null;
  /** null in mode `paper`, which compares scores. */
  readonly worth: MoveWorth | null;
}

/** What a move is to gain, with all the pods that it moves. */
export interface MoveWorth {
  /** Share of what their channels cost. */
  readonly gainRatio: number;
  readonly pods: number;
}

export interface Replacement {
  readonly name: string;
  readonly node: string;
  readonly readyMs: number;
}

export interface DoneMove {
  readonly move: StartedMove;
  readonly outcome: MoveOutcome;
  /** null: none became ready in time. */
  readonly replacement: Replacement | null;
}

export interface ReplacedMove {
  readonly move: StartedMove;
  readonly replacement: Replacement;
}

/** Measurements are waited for so much longer than it takes them to be due; then nobody will know. */
const MEASURE_WITHIN_MS = 15 * 60_000;

export class StartedMoves {
  readonly #waiting = new Map<string, StartedMove>();
  #unmeasured: ReplacedMove[] = [];

  get waiting(): readonly StartedMove[] {
    return [...this.#waiting.values()];
  }

  /** Uids of controllers with a pod on its way. */
  get owners(): ReadonlySet<string> {
    return new Set([...this.#waiting.values()].map(({ owner }) => owner.uid));
  }

  /** Whose replacement is ready, and whose channels aren't measured again yet. */
  get unmeasured(): readonly ReplacedMove[] {
    return this.#unmeasured;
  }

  /** What the leader before hadn't measured. */
  restore(unmeasured: readonly ReplacedMove[]): void {
    this.#unmeasured = [...unmeasured];
  }

  /** Moves that were under way under the previous leader. */
  resume(moves: readonly StartedMove[]): void {
    for (const move of moves) this.begin(move);
  }

  begin(move: StartedMove): void {
    this.#waiting.set(move.podUid, move);
  }

  /** Moves whose replacement is ready, or will not be waited for any more. They are told once. */
  look(pods: readonly KubernetesObject[], nowMs: number): DoneMove[] {
    const done = [...this.#waiting.values()].flatMap((move) => doneBy(move, pods, nowMs) ?? []);
    for (const { move, replacement } of done) {
      this.#waiting.delete(move.podUid);
      if (replacement !== null) this.#unmeasured.push({ move, replacement });
    }
    return done;
  }

  /**
   * Moves that are to be measured now: until `measured` says that one was. Those that never could be are
   * forgotten.
   */
  due(nowMs: number, judgeAfterMs: number): readonly ReplacedMove[] {
    const ageMs = ({ replacement }: ReplacedMove): number => nowMs - replacement.readyMs;
    this.#unmeasured = this.#unmeasured.filter((one) => ageMs(one) < judgeAfterMs + MEASURE_WITHIN_MS);
    return this.#unmeasured.filter((one) => ageMs(one) >= judgeAfterMs);
  }

  measured(move: StartedMove): void {
    this.#unmeasured = this.#unmeasured.filter((one) => one.move !== move);
  }
}

function doneBy(move: StartedMove, pods: readonly KubernetesObject[], nowMs: number): DoneMove | null {
  const pod = pods.find((one) => isReplacement(one, move) && hasCondition(one, "Ready"));
  const node = looseFields<PodSpec>(pod?.spec).nodeName;
  if (pod !== undefined && typeof node === "string") {
    const replacement = { name: pod.metadata.name, node, readyMs: nowMs };
    return { move, outcome: node === move.to ? "on_target" : "elsewhere", replacement };
  }
  return nowMs > move.deadlineMs ? { move, outcome: "lost", replacement: null } : null;
}

function isReplacement(pod: KubernetesObject, { owner, siblings }: StartedMove): boolean {
  return (
    pod.metadata.deletionTimestamp === undefined &&
    moveOwnerOf(pod)?.uid === owner.uid &&
    !siblings.has(pod.metadata.uid ?? "")
  );
}

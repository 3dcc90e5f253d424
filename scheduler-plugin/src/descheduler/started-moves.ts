import { hasCondition, readRelease } from "@isochrone/kubernetes";
import type { KubernetesObject, ObjectRef } from "@isochrone/kubernetes";
import type { ChannelLatency } from "@isochrone/placement";
import type { MoveOutcome } from "./decision/metrics.ts";
import { livePodsOf, nodeOfPod } from "./controller-pods.ts";

export interface StartedMove {
  readonly id: string;
  readonly owner: ObjectRef & { readonly uid: string };
  readonly namespace: string;
  readonly pod: string;
  readonly podUid: string;
  readonly workflow: string;
  readonly workload: string;
  readonly from: string;
  readonly to: string;
  readonly atMs: number;
  readonly deadlineMs: number;
  readonly coolDownMs: number;
  /** UIDs of the controller's pods at the start: none of them is the replacement. */
  readonly siblings: ReadonlySet<string>;
  /** The pod's channels from its node and from the target when decided; null if the graphs lacked them. */
  readonly before: ChannelLatency | null;
  readonly expected: ChannelLatency | null;
  /** null in mode `paper`, which compares scores. */
  readonly worth: MoveWorth | null;
  /**
   * The pod serves until its replacement is ready. `before`: pods of the controller already on the target.
   * undefined: the pod was evicted first.
   */
  readonly release?: { readonly before: number } | undefined;
}

/** Expected gain of a move, over all pods that move together. */
export interface MoveWorth {
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
  /** null if none became ready in time, or if the pod stayed. */
  readonly replacement: Replacement | null;
}

export interface ReplacedMove {
  readonly move: StartedMove;
  readonly replacement: Replacement;
}

export function shiftedMove(move: StartedMove, stepMs: number): StartedMove {
  return { ...move, atMs: move.atMs + stepMs, deadlineMs: move.deadlineMs + stepMs };
}

/** Measurements are given up this long after they are due. */
const MEASURE_WITHIN_MS = 15 * 60_000;

/** The ReplicaSet deletes the surplus pod within milliseconds; a later deletion has another reason. */
const SURPLUS_WITHIN_MS = 60_000;

interface RestoredPod {
  readonly replicas: number;
  readonly giveUpMs: number;
}

export class StartedMoves {
  readonly #waiting = new Map<string, StartedMove>();
  readonly #restored = new Map<string, RestoredPod>();
  /** Replacements that were ready on their targets at eviction, by UID of the evicted pod. */
  readonly #arrived = new Map<string, Replacement>();
  #unmeasured: ReplacedMove[] = [];

  get waiting(): readonly StartedMove[] {
    return [...this.#waiting.values()];
  }

  get owners(): ReadonlySet<string> {
    return new Set([...this.#waiting.values()].map(({ owner }) => owner.uid));
  }

  /** Moves with a ready replacement whose channels aren't measured again yet. */
  get unmeasured(): readonly ReplacedMove[] {
    return this.#unmeasured;
  }

  shift(stepMs: number): void {
    for (const [uid, move] of this.#waiting) this.#waiting.set(uid, shiftedMove(move, stepMs));
    for (const [uid, one] of this.#restored)
      this.#restored.set(uid, { ...one, giveUpMs: one.giveUpMs + stepMs });
    for (const [uid, one] of this.#arrived) this.#arrived.set(uid, { ...one, readyMs: one.readyMs + stepMs });
    this.#unmeasured = this.#unmeasured.map(({ move, replacement }) => ({
      move: shiftedMove(move, stepMs),
      replacement: { ...replacement, readyMs: replacement.readyMs + stepMs },
    }));
  }

  restore(unmeasured: readonly ReplacedMove[]): void {
    this.#unmeasured = [...unmeasured];
  }

  resume(moves: readonly StartedMove[]): void {
    for (const move of moves) this.begin(move);
  }

  begin(move: StartedMove): void {
    this.#waiting.set(move.podUid, move);
  }

  has(podUid: string): boolean {
    return this.#waiting.has(podUid);
  }

  /** Its ReplicaSet adopted the pod again. @param replicas desired by the ReplicaSet */
  restored(podUid: string, replicas: number, nowMs: number): void {
    this.#restored.set(podUid, { replicas, giveUpMs: nowMs + SURPLUS_WITHIN_MS });
  }

  /** The released pod was evicted because its replacement is ready. Later events don't belong to the move. */
  arrived(podUid: string, pods: readonly KubernetesObject[], nowMs: number): void {
    const move = this.#waiting.get(podUid);
    const replacement = move === undefined ? null : replacementOf(move, pods, nowMs);
    if (replacement !== null) this.#arrived.set(podUid, replacement);
  }

  /** Returns, once, moves whose replacement is ready or has been given up. */
  look(pods: readonly KubernetesObject[], nowMs: number): DoneMove[] {
    const done = [...this.#waiting.values()].flatMap((move) => {
      const { podUid } = move;
      const known = { restored: this.#restored.get(podUid), arrived: this.#arrived.get(podUid) };
      return doneBy(move, pods, known, nowMs) ?? [];
    });
    for (const { move, replacement } of done) {
      this.#waiting.delete(move.podUid);
      this.#restored.delete(move.podUid);
      this.#arrived.delete(move.podUid);
      if (replacement !== null) this.#unmeasured.push({ move, replacement });
    }
    return done;
  }

  /** Moves to measure now, until `measured` is called for them. Forgets those that can't be measured. */
  due(nowMs: number, judgeAfterMs: number): readonly ReplacedMove[] {
    const ageMs = ({ replacement }: ReplacedMove): number => nowMs - replacement.readyMs;
    this.#unmeasured = this.#unmeasured.filter((one) => ageMs(one) < judgeAfterMs + MEASURE_WITHIN_MS);
    return this.#unmeasured.filter((one) => ageMs(one) >= judgeAfterMs);
  }

  measured(move: StartedMove): void {
    this.#unmeasured = this.#unmeasured.filter((one) => one.move !== move);
  }
}

interface KnownMove {
  readonly restored: RestoredPod | undefined;
  readonly arrived: Replacement | undefined;
}

function doneBy(
  move: StartedMove,
  pods: readonly KubernetesObject[],
  { restored, arrived }: KnownMove,
  nowMs: number,
): DoneMove | null {
  const { podUid, release, to, deadlineMs } = move;
  const old = release === undefined ? undefined : pods.find(({ metadata }) => metadata.uid === podUid);
  if (old !== undefined && old.metadata.deletionTimestamp === undefined)
    return hasStayed(move, old, pods, restored, nowMs)
      ? { move, outcome: "withdrawn", replacement: null }
      : null;
  const replacement = arrived ?? replacementOf(move, pods, nowMs);
  if (replacement !== null)
    return { move, outcome: replacement.node === to ? "on_target" : "elsewhere", replacement };
  return nowMs > deadlineMs ? { move, outcome: "lost", replacement: null } : null;
}

/** True if the ReplicaSet has the pod again and has deleted the surplus one. */
function hasStayed(
  { owner, deadlineMs }: StartedMove,
  old: KubernetesObject,
  pods: readonly KubernetesObject[],
  restored: RestoredPod | undefined,
  nowMs: number,
): boolean {
  if (readRelease(old) !== null) return false;
  // Before the deadline, the cluster may not show yet that the pod is released.
  if (restored === undefined) return nowMs > deadlineMs;
  return livePodsOf(owner.uid, pods).length <= restored.replicas || nowMs > restored.giveUpMs;
}

function replacementOf(
  { owner, release, siblings, to }: StartedMove,
  pods: readonly KubernetesObject[],
  nowMs: number,
): Replacement | null {
  const ready = livePodsOf(owner.uid, pods).flatMap((pod) => {
    const node = hasCondition(pod, "Ready") ? nodeOfPod(pod) : null;
    return node === null ? [] : [{ pod, node }];
  });
  const isNew = ({ pod }: (typeof ready)[number]): boolean => !siblings.has(pod.metadata.uid ?? "");
  const onTarget = ready.filter(({ node }) => node === to);
  // A previous leader's siblings aren't known, but their number on the target is.
  const hasArrived = release === undefined || onTarget.length > release.before;
  const elsewhere = ready.filter(({ node }) => node !== to);
  const found = (hasArrived ? onTarget.find(isNew) : undefined) ?? elsewhere.find(isNew);
  return found === undefined ? null : { name: found.pod.metadata.name, node: found.node, readyMs: nowMs };
}

// Moves tasks of running jobs by the descheduler's rules, one at a time: the new pod runs and has the flows
// before the old one is evicted. What of a move isn't over when a term ends is undone: the status names the
// old node until the new pod runs, and a pod that no status names is deleted.
import { hasCondition, isStoreError, type ClusterStore, type KubernetesObject } from "@isochrone/kubernetes";
import { isOpen, keepingAnnotation, parseMaintenanceWindow } from "@isochrone/placement";
import { BoundedMap } from "@isochrone/primitives";
import type { Clock, Logger } from "@isochrone/runtime";
import { isUnschedulable } from "../../adapters/observed-pod.ts";
import type { DeschedulerConfig } from "../../descheduler/decision/settings.ts";
import type { ProposedMove } from "../domain/propose-move.ts";
import { isRunning } from "../job-pods.ts";
import type { BesidePod } from "../job-writes.ts";
import type { StreamMetrics } from "../metrics.ts";

export type MoveRules = Pick<
  DeschedulerConfig,
  | "coolDownMs"
  | "intervalMs"
  | "minGainRatio"
  | "minPodAgeMs"
  | "mode"
  | "moveDeadlineMs"
  | "rounds"
  | "windows"
>;

interface TaskMovesOptions {
  readonly rules: MoveRules;
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: StreamMetrics;
}

/** `starting`: the new pod doesn't run yet. `leaving`: the job is on the new node, and the old pod may go. */
interface Move {
  readonly uid: string;
  readonly task: string;
  readonly from: string;
  readonly to: string;
  readonly stage: "leaving" | "starting";
  /** Monotonic milliseconds. */
  readonly untilMs: number;
}

/** The job of the move as it is now. */
interface MovedJob {
  /** Node of the task; null: it has none. */
  readonly host: string | null;
  readonly podOn: (node: string) => KubernetesObject | null;
  /** Whether the managers have the flows of the job as they are now. */
  readonly areFlowsApplied: boolean;
}

/** How long an old pod waits for rules of its successor where nobody may make any. */
const WITHOUT_MANAGERS_MS = 10_000;

/** Pods whose first sight is remembered. */
const MAX_SEEN = 10_000;

export class TaskMoves {
  readonly #options: TaskMovesOptions;
  readonly #windows: ReturnType<typeof parseMaintenanceWindow>[];
  /** By uid of the job: until when it rests. Monotonic milliseconds. */
  readonly #rests = new Map<string, number>();
  /** When pods were asked about first, by uid; monotonic milliseconds. */
  readonly #seenMs = new BoundedMap<number>(MAX_SEEN);
  #move: Move | null = null;
  #nextMs = Number.NEGATIVE_INFINITY;
  /** The move that was proposed last, and how often in a row. */
  #proposed = { text: "", rounds: 0 };

  constructor(options: TaskMovesOptions) {
    this.#options = options;
    this.#windows = options.rules.windows.map(parseMaintenanceWindow);
  }

  get margin(): number {
    return this.#options.rules.minGainRatio;
  }

  /** Uid of the job that a task of is being moved; null: none. */
  get moving(): string | null {
    return this.#move?.uid ?? null;
  }

  /** Whether it is time to look for a move. Asked once for each look. */
  isDue(): boolean {
    const { clock, rules } = this.#options;
    if (this.#move !== null || clock.monotonic() < this.#nextMs) return false;
    this.#nextMs = clock.monotonic() + rules.intervalMs;
    return isOpen(this.#windows, clock.now());
  }

  /** Whether the pod of a task of this job may be moved now. */
  mayMove(uid: string, pod: KubernetesObject | null): boolean {
    const { clock, rules } = this.#options;
    if (pod === null || !isReady(pod) || clock.monotonic() < (this.#rests.get(uid) ?? -Infinity))
      return false;
    const { annotations = {}, creationTimestamp = "" } = pod.metadata;
    if (keepingAnnotation(annotations) !== null) return false;
    // The clock by which it is older counts: ours may be years behind.
    const { uid: podUid = "" } = pod.metadata;
    const seenMs = this.#seenMs.get(podUid) ?? clock.monotonic();
    this.#seenMs.set(podUid, seenMs);
    const ageMs = Math.max(clock.now() - Date.parse(creationTimestamp), clock.monotonic() - seenMs);
    return ageMs >= rules.minPodAgeMs;
  }

  /** Begins a move that was proposed as often as the rules want it. */
  propose(uid: string | null, proposed: ProposedMove | null): void {
    const { rules, logger, metrics, clock } = this.#options;
    const text = proposed === null ? "" : [uid, proposed.task, proposed.from, proposed.to].join(" ");
    const rounds = text === this.#proposed.text ? this.#proposed.rounds + 1 : 1;
    this.#proposed = { text, rounds };
    if (uid === null || proposed === null || rounds < rules.rounds) return;
    this.#proposed = { text: "", rounds: 0 };
    const { task, from, to } = proposed;
    if (rules.mode !== "evict") {
      this.#rest(uid);
      metrics.moves.inc({ result: "dry_run" });
      logger.info("a task of a stream job would be moved", { ...proposed });
      return;
    }
    this.#move = {
      uid,
      task,
      from,
      to,
      stage: "starting",
      untilMs: clock.monotonic() + rules.moveDeadlineMs,
    };
    logger.info("a task of a stream job is moved", { ...proposed });
  }

  /** Beside the pods of the job's nodes: the task's pod on the other node of the move. Null: none. */
  besides(uid: string): BesidePod | null {
    if (this.#move?.uid !== uid) return null;
    const { task, from, to, stage } = this.#move;
    if (stage === "leaving") return { task, node: from, onRefused: null };
    return { task, node: to, onRefused: (message) => this.#refused(message) };
  }

  /**
   * Takes the next step of the move of this job.
   *
   * @param jobOf by the task that is moved; null: the job is gone
   * @returns the task and its new node, once the new pod runs; null: nothing changes
   */
  async advance(jobOf: (task: string) => MovedJob | null): Promise<{ task: string; node: string } | null> {
    const move = this.#move;
    if (move === null) return null;
    const now = jobOf(move.task);
    // Somebody else has decided where the task is: its node was lost, or the job is over.
    if (now === null || now.host !== (move.stage === "starting" ? move.from : move.to)) {
      this.#end("abandoned");
      return null;
    }
    if (move.stage === "starting") return this.#switch(move, now.podOn(move.to));
    await this.#leave(move, now);
    return null;
  }

  /** Forgets jobs that are gone. */
  keep(uids: ReadonlySet<string>): void {
    for (const uid of this.#rests.keys()) if (!uids.has(uid)) this.#rests.delete(uid);
  }

  #switch(move: Move, successor: KubernetesObject | null): { task: string; node: string } | null {
    const nowMs = this.#options.clock.monotonic();
    if (successor !== null && isReady(successor)) {
      this.#move = { ...move, stage: "leaving", untilMs: nowMs + WITHOUT_MANAGERS_MS };
      return { task: move.task, node: move.to };
    }
    if (nowMs > move.untilMs || (successor !== null && isUnschedulable(successor))) this.#end("abandoned");
    return null;
  }

  async #leave({ from, untilMs }: Move, { podOn, areFlowsApplied }: MovedJob): Promise<void> {
    const { store, clock, logger } = this.#options;
    const old = podOn(from);
    if (old === null || old.metadata.deletionTimestamp !== undefined) return this.#end("done");
    if (!areFlowsApplied && clock.monotonic() < untilMs) return;
    const { namespace = "default", name, uid } = old.metadata;
    try {
      await store.evict({ namespace, name }, uid === undefined ? {} : { preconditions: { uid } });
    } catch (error) {
      if (isStoreError(error, "not_found")) return;
      // A PodDisruptionBudget that forbids it now lets it go later: the successor counts, too.
      logger.warnOnce("streams:eviction", "the old pod of a moved task can't go yet", { pod: name, error });
    }
  }

  #refused(message: string): void {
    this.#options.logger.warn("a task of a stream job isn't moved", { message });
    this.#end("abandoned");
  }

  #end(result: "abandoned" | "done"): void {
    this.#options.metrics.moves.inc({ result });
    this.#rest(this.#move!.uid);
    this.#move = null;
  }

  #rest(uid: string): void {
    const { clock, rules } = this.#options;
    this.#rests.set(uid, clock.monotonic() + rules.coolDownMs);
  }
}

function isReady(pod: KubernetesObject): boolean {
  return isRunning(pod) && hasCondition(pod, "Ready");
}

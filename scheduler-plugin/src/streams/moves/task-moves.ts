// Moves tasks of running jobs by the descheduler's rules, one at a time: the new pod runs and has flows
// before the old is evicted. A move unfinished at the end of a term is undone: the status names the old node
// until the new pod runs, and unnamed pods are deleted.
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

/** `starting`: the new pod doesn't run yet. `leaving`: the job is on the new node, the old pod may go. */
interface Move {
  readonly uid: string;
  readonly task: string;
  readonly from: string;
  readonly to: string;
  readonly stage: "leaving" | "starting";
  readonly untilMs: number;
}

interface MovedJob {
  readonly host: string | null;
  readonly podOn: (node: string) => KubernetesObject | null;
  readonly areFlowsApplied: boolean;
}

/** How long an old pod waits for its successor's rules where no manager exists. */
const WITHOUT_MANAGERS_MS = 10_000;

const MAX_SEEN = 10_000;

export class TaskMoves {
  readonly #options: TaskMovesOptions;
  readonly #windows: ReturnType<typeof parseMaintenanceWindow>[];
  readonly #rests = new Map<string, number>();
  readonly #seenMs = new BoundedMap<number>(MAX_SEEN);
  #move: Move | null = null;
  #nextMs = Number.NEGATIVE_INFINITY;
  #proposed = { text: "", rounds: 0 };

  constructor(options: TaskMovesOptions) {
    this.#options = options;
    this.#windows = options.rules.windows.map(parseMaintenanceWindow);
  }

  get margin(): number {
    return this.#options.rules.minGainRatio;
  }

  get moving(): string | null {
    return this.#move?.uid ?? null;
  }

  isDue(): boolean {
    const { clock, rules } = this.#options;
    if (this.#move !== null || clock.monotonic() < this.#nextMs) return false;
    this.#nextMs = clock.monotonic() + rules.intervalMs;
    return isOpen(this.#windows, clock.now());
  }

  mayMove(uid: string, pod: KubernetesObject | null): boolean {
    const { clock, rules } = this.#options;
    if (pod === null || !isReady(pod) || clock.monotonic() < (this.#rests.get(uid) ?? -Infinity))
      return false;
    const { annotations = {}, creationTimestamp = "" } = pod.metadata;
    if (keepingAnnotation(annotations) !== null) return false;
    // Use the clock that makes it older: ours may be years behind.
    const { uid: podUid = "" } = pod.metadata;
    const seenMs = this.#seenMs.get(podUid) ?? clock.monotonic();
    this.#seenMs.set(podUid, seenMs);
    const ageMs = Math.max(clock.now() - Date.parse(creationTimestamp), clock.monotonic() - seenMs);
    return ageMs >= rules.minPodAgeMs;
  }

  /** Begins a move proposed as often as the rules require. */
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

  besides(uid: string): BesidePod | null {
    if (this.#move?.uid !== uid) return null;
    const { task, from, to, stage } = this.#move;
    if (stage === "leaving") return { task, node: from, onRefused: null };
    return { task, node: to, onRefused: (message) => this.#refused(message) };
  }

  /**
   * Advances the job's move.
   * @param jobOf by moving task; null if the job is gone
   * @returns the task and its new node once the new pod runs; null otherwise
   */
  async advance(jobOf: (task: string) => MovedJob | null): Promise<{ task: string; node: string } | null> {
    const move = this.#move;
    if (move === null) return null;
    const now = jobOf(move.task);
    // The task was placed elsewhere: its node was lost, or the job ended.
    if (now === null || now.host !== (move.stage === "starting" ? move.from : move.to)) {
      this.#end("abandoned");
      return null;
    }
    if (move.stage === "starting") return this.#switch(move, now.podOn(move.to));
    await this.#leave(move, now);
    return null;
  }

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
      // A PodDisruptionBudget may allow it later, when the successor counts.
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

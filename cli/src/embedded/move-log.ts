import { doubtOf } from "./acts.ts";
// Turns the stages of single pods into what people want to know: what moved together, why, and what it
// brought.
import type { EndToEnd } from "@isochrone/lab";
import type { Clock } from "@isochrone/runtime";
import type { PodMove } from "./pod-moves.ts";

/** One stage of one pod's way. */
export type MovedPod = Pick<
  PodMove,
  "stage" | "namespace" | "workload" | "pod" | "from" | "to" | "target" | "reason"
>;

/** A pod that was to move, and what became of it. */
export interface EndedMove {
  readonly workload: string;
  readonly from: string;
  /** Where it runs now; null: nowhere. */
  readonly to: string | null;
  /** Where it was to run; null: nobody had decided that. */
  readonly target: string | null;
  /**
   * `moved`: it runs on another node, on its target if it had one. `failed`: it doesn't. `moving`: it was
   * waited for long enough.
   */
  readonly outcome: "moved" | "failed" | "moving";
}

/** Pods that were to move about the same time. */
export interface MoveGroup {
  readonly pods: readonly EndedMove[];
  readonly reasons: readonly string[];
  /** What users experienced up to the first move. */
  readonly before: EndToEnd;
}

interface MoveLogOptions {
  readonly clock: Clock;
  /** How far back end-to-end figures reach. */
  readonly lastMs: number;
  readonly endToEnd: (lastMs: number) => Promise<EndToEnd>;
  readonly onMoved: (group: MoveGroup) => void;
  /** @param doubt why the figures say little about the move; null: they do */
  readonly onMeasured: (group: MoveGroup, after: EndToEnd, doubt: string | null) => void;
  /** Whether the machine has other things to do. */
  readonly isBusy: () => boolean;
}

const POLL_MS = 500;
/**
 * Moves that follow each other sooner belong together: the descheduler takes several runs for a large one.
 */
const TOGETHER_WITHIN_MS = 5_000;
/** What hasn't arrived by then is told as it is. */
const PATIENCE_MS = 60_000;
/** Requests that began before the last move must have left. */
const SETTLE_MS = 2_000;

interface Gathering {
  readonly moves: Map<string, MovedPod>;
  readonly before: EndToEnd;
  readonly sinceMs: number;
  readonly wasBusy: boolean;
  lastMs: number;
}

export class MoveLog {
  readonly #options: MoveLogOptions;
  #heard: MovedPod[] = [];

  constructor(options: MoveLogOptions) {
    this.#options = options;
  }

  /** Notes how moves begin and end; a measurement afterwards is neither. */
  hear(move: MovedPod): void {
    if (move.stage !== "measured") this.#heard.push(move);
  }

  /** Rejects with the signal's reason when aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    for (;;) {
      await clock.sleep(POLL_MS, signal);
      if (this.#heard.length > 0) await this.#tell(await this.#gather(signal), signal);
    }
  }

  async #gather(signal: AbortSignal): Promise<Gathering> {
    const { clock, lastMs } = this.#options;
    const nowMs = clock.monotonic();
    const before = await this.#read(lastMs, signal);
    const wasBusy = this.#options.isBusy();
    const gathering: Gathering = { moves: new Map(), before, sinceMs: nowMs, wasBusy, lastMs: nowMs };
    while (!this.#isOver(gathering)) await clock.sleep(POLL_MS, signal);
    return gathering;
  }

  #isOver(gathering: Gathering): boolean {
    const nowMs = this.#options.clock.monotonic();
    if (this.#heard.length > 0) gathering.lastMs = nowMs;
    for (const move of this.#heard.splice(0)) gathering.moves.set(`${move.namespace}/${move.pod}`, move);
    const isUnderWay = [...gathering.moves.values()].some((move) => endOf(move).outcome === "moving");
    if (nowMs - gathering.sinceMs > PATIENCE_MS) return true;
    return !isUnderWay && nowMs - gathering.lastMs >= TOGETHER_WITHIN_MS;
  }

  async #tell({ moves, before, wasBusy }: Gathering, signal: AbortSignal): Promise<void> {
    const { clock, lastMs, onMoved, onMeasured, isBusy } = this.#options;
    const all = [...moves.values()];
    const group: MoveGroup = {
      pods: all.map(endOf),
      reasons: [...new Set(all.map(({ reason }) => reason))],
      before,
    };
    onMoved(group);
    if (!group.pods.some(({ outcome }) => outcome === "moved")) return;
    await clock.sleep(lastMs + SETTLE_MS, signal);
    // What moved meanwhile has changed what is measured: it is told together with that.
    if (this.#heard.length > 0) return;
    const after = await this.#read(lastMs, signal);
    onMeasured(group, after, doubtOf(after, wasBusy || isBusy()));
  }

  async #read(lastMs: number, signal: AbortSignal): Promise<EndToEnd> {
    for (;;)
      try {
        return await this.#options.endToEnd(lastMs);
      } catch {
        signal.throwIfAborted();
        await this.#options.clock.sleep(POLL_MS, signal);
      }
  }
}

function endOf({ workload, from, to, target, stage }: MovedPod): EndedMove {
  if (stage === "evicted" || stage === "replacing")
    return { workload, from, to: null, target, outcome: "moving" };
  if (stage === "lost") return { workload, from, to: null, target, outcome: "failed" };
  const isMoved = stage === "arrived" && to !== from && (target === null || to === target);
  return { workload, from, to, target, outcome: isMoved ? "moved" : "failed" };
}

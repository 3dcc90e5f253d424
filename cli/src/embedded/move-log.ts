import { doubtOf } from "./acts.ts";
// Groups stages of pod moves into events: what moved together, why, and the effect.
import type { EndToEnd } from "@isochrone/lab";
import type { Clock } from "@isochrone/runtime";
import type { PodMove } from "./pod-moves.ts";

export type MovedPod = Pick<
  PodMove,
  "stage" | "namespace" | "workload" | "pod" | "from" | "to" | "target" | "reason"
>;

export interface EndedMove {
  readonly workload: string;
  readonly from: string;
  readonly to: string | null;
  /** Intended node; null: undecided. */
  readonly target: string | null;
  /** `moved`: runs on another node, the target if any. `failed`: not. `moving`: unfinished at the timeout. */
  readonly outcome: "moved" | "failed" | "moving";
}

export interface MoveGroup {
  readonly pods: readonly EndedMove[];
  readonly reasons: readonly string[];
  readonly before: EndToEnd;
}

interface MoveLogOptions {
  readonly clock: Clock;
  readonly lastMs: number;
  readonly endToEnd: (lastMs: number) => Promise<EndToEnd>;
  readonly onMoved: (group: MoveGroup) => void;
  readonly onMeasured: (group: MoveGroup, after: EndToEnd, doubt: string | null) => void;
  readonly isBusy: () => boolean;
}

const POLL_MS = 500;
/** Moves within this gap belong together: the descheduler takes several runs for a large one. */
const TOGETHER_WITHIN_MS = 5_000;
const PATIENCE_MS = 60_000;
/** Lets requests from before the last move finish. */
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

  /** Records begins and ends of moves, ignoring later measurements. */
  hear(move: MovedPod): void {
    if (move.stage !== "measured") this.#heard.push(move);
  }

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
    // New moves changed the measurement: report them together.
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

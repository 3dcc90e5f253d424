import { AnsweringThread } from "@isochrone/runtime";
import type { Clock, ThreadOutcome } from "@isochrone/runtime";
import { solved, type FrameAnswer, type FrameProblem, type FrameRequest } from "./frame-messages.ts";
import type { FrameSolution } from "./frame-messages.ts";

interface FrameSolverOptions {
  readonly clock: Clock;
  readonly inlinePairs?: number;
  /** Entry file of the thread. @default frame-thread.ts */
  readonly threadUrl?: URL;
}

const INLINE_PAIRS = 500;
/** Includes loading a new thread's code on a busy machine. */
const TIMEOUT_MS = 20_000;
/** More than any frame needs. Beyond it the thread ends, not the process. */
const MAX_HEAP_MB = 1_024;

/** Solves small frames at once, large ones in a thread. The next frame replaces a dead or hung thread. */
export class FrameSolver {
  readonly #inlinePairs: number;
  readonly #thread: AnsweringThread<FrameRequest, FrameAnswer>;

  constructor({ clock, inlinePairs = INLINE_PAIRS, threadUrl }: FrameSolverOptions) {
    this.#inlinePairs = inlinePairs;
    this.#thread = new AnsweringThread({
      url: threadUrl ?? new URL("./frame-thread.ts", import.meta.url),
      name: "isochrone-replicas",
      maxHeapMb: MAX_HEAP_MB,
      clock,
    });
  }

  /** Resolves to a string with the reason if there is no solution; to null if closed meanwhile. */
  async solve(problem: FrameProblem): Promise<FrameSolution | string | null> {
    if (problem.perSecond.length <= this.#inlinePairs) return solved(problem);
    return solutionOf(await this.#thread.ask({ problem }, TIMEOUT_MS));
  }

  async close(): Promise<void> {
    await this.#thread.close();
  }
}

function solutionOf(outcome: ThreadOutcome<FrameAnswer>): FrameSolution | string | null {
  const { kind } = outcome;
  if (kind === "closed") return null;
  if (kind === "busy") return "the frame before isn't worked out yet";
  if (kind === "timeout") return `a frame must take at most ${TIMEOUT_MS} ms; its thread was ended`;
  if (kind === "died") return "the thread that works frames out died";
  const { answer } = outcome;
  return "solution" in answer ? answer.solution : `the frame can't be worked out: ${answer.failure}`;
}

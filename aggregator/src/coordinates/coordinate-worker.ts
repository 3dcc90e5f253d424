import { AnsweringThread } from "@isochrone/runtime";
import type { Clock, ThreadOutcome } from "@isochrone/runtime";
import { CoordinateModel, type CoordinateState } from "@isochrone/topology/coordinates";
import type { FitInput } from "./domain/coordinate-samples.ts";
import { CoordinateError } from "../ports/errors.ts";
import type { CoordinateFit, CoordinateFitter } from "../ports/ports.ts";
import type { FitAnswer, FitRequest } from "./coordinate-messages.ts";

/** Equal on all replicas, so that equal samples give equal coordinates. */
const SEED = 1;
/** Above any cluster's need. Beyond it the thread ends, not the process. */
const MAX_HEAP_MB = 1024;

interface CoordinateWorkerOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly threadUrl?: URL;
}

/** Runs fits in a thread. Starts it with the first fit, and again after a crash or timeout. */
export class CoordinateWorker implements CoordinateFitter {
  readonly #timeoutMs: number;
  readonly #thread: AnsweringThread<FitRequest, FitAnswer>;
  #previous: CoordinateState | null = null;

  constructor({ clock, timeoutMs, threadUrl }: CoordinateWorkerOptions) {
    this.#timeoutMs = timeoutMs;
    this.#thread = new AnsweringThread({
      url: threadUrl ?? new URL("./coordinate-worker-thread.ts", import.meta.url),
      name: "isochrone-coordinates",
      maxHeapMb: MAX_HEAP_MB,
      clock,
    });
  }

  async fit(input: FitInput): Promise<CoordinateFit> {
    const previous = this.#thread.isRunning ? null : this.#previous;
    const outcome = await this.#thread.ask({ input, seed: SEED, previous }, this.#timeoutMs);
    if (outcome.kind !== "answer") throw this.#failed(outcome);
    const { answer } = outcome;
    if ("failure" in answer) {
      this.#previous = null;
      const message = `coordinates could not be fitted: ${answer.failure}`;
      throw new CoordinateError("coordinate_fit_failed", message);
    }
    const { state, durationMs } = answer;
    const { quality } = state;
    this.#previous = state;
    return {
      model: byName(CoordinateModel.fromState(state)),
      durationMs,
      medianRelativeError: quality.heldOutMedianRelativeError,
      p90RelativeError: quality.heldOutP90RelativeError,
      rejected: { ...quality.rejected },
    };
  }

  async close(): Promise<void> {
    await this.#thread.close();
  }

  #failed(outcome: Exclude<ThreadOutcome<FitAnswer>, { kind: "answer" }>): CoordinateError {
    if (outcome.kind === "died") return died("the thread that fits coordinates died", outcome.cause);
    if (outcome.kind === "closed") return died("coordinates were being fitted when the service ended");
    if (outcome.kind === "busy")
      return new CoordinateError("coordinate_fit_failed", "only one fit can run at a time");
    // A fit from the same starting point might not end either.
    this.#previous = null;
    const message = `fitting coordinates must take at most ${this.#timeoutMs} ms; the thread was ended`;
    return new CoordinateError("coordinate_fit_timeout", message);
  }
}

/** Unknown names map to index -1, for which the model has no data. */
function byName(model: CoordinateModel): CoordinateFit["model"] {
  return {
    estimate: (source, target) => model.estimate(model.indexOf(source), model.indexOf(target)),
    coordinateOf: (node) => model.coordinateOf(model.indexOf(node)),
  };
}

function died(message: string, cause?: unknown): CoordinateError {
  return new CoordinateError("coordinate_thread_died", message, cause);
}

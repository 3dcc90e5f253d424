// Moves, cool-downs and budgets are kept by the wall clock, because they outlive a leader. A clock that is set
// must not make them last for years.
import type { Clock } from "@isochrone/runtime";
import { shiftedMove, type StartedMove } from "./started-moves.ts";
import type { TermMemory } from "./term-memory.ts";

/** Smaller steps are corrections of a clock that runs. */
const LEAST_STEP_MS = 1_000;

/** Notices that the wall clock was set. */
export class ClockSteps {
  readonly #clock: Clock;
  #aheadMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#aheadMs = clock.now() - clock.monotonic();
  }

  /** By how much it was set since the last call; 0: it was not. */
  take(): number {
    const aheadMs = this.#clock.now() - this.#clock.monotonic();
    const stepMs = aheadMs - this.#aheadMs;
    if (Math.abs(stepMs) < LEAST_STEP_MS) return 0;
    this.#aheadMs = aheadMs;
    return stepMs;
  }
}

/** The memory of a leader whose clock may have been ahead: nothing in it is later than now. */
export function notAhead<M extends Pick<TermMemory, "left" | "settled" | "waiting" | "unmeasured">>(
  memory: M,
  nowMs: number,
): M {
  return {
    ...memory,
    left: memory.left.map((note) => ({ ...note, atMs: Math.min(note.atMs, nowMs) })),
    settled: memory.settled.map((note) => ({ ...note, atMs: Math.min(note.atMs, nowMs) })),
    waiting: memory.waiting.map((move) => movedBack(move, nowMs)),
    unmeasured: memory.unmeasured.map(({ move, replacement }) => ({
      move: movedBack(move, nowMs),
      replacement: { ...replacement, readyMs: Math.min(replacement.readyMs, nowMs) },
    })),
  };
}

function movedBack(move: StartedMove, nowMs: number): StartedMove {
  return shiftedMove(move, Math.min(0, nowMs - move.atMs));
}

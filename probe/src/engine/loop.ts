import type { StallMonitor } from "../domain/stall-monitor.ts";
import type { Sockets } from "./sockets/port.ts";
import type { Timetable } from "./timetable.ts";

/** What drives a measuring thread: its sockets, its timed work, and in which order they come. */
export interface Loop {
  readonly sockets: Sockets;
  readonly timetable: Timetable;
  /** Runs after everything that is readable now has been read. */
  afterPoll(run: () => void): void;
  /** A monitor of the thread that knows when this loop has it stand still on purpose. */
  watch(boundMs: number): StallMonitor;
  unwatch(monitor: StallMonitor): void;
  /** Begins to serve; again after `stop`. */
  start(): void;
  stop(): void;
  /** Stops for ever, and gives back what the loop holds. */
  close(): void;
}

export interface LoopDeps {
  /** Milliseconds, sub-microsecond grain, never backwards. */
  readonly monotonic: () => number;
  readonly onError: (error: unknown) => void;
}

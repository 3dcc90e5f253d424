import type { StallMonitor } from "../domain/stall-monitor.ts";
import type { Sockets } from "./sockets/port.ts";
import type { Timetable } from "./timetable.ts";

/** Drives a measuring thread: its sockets, its timed tasks, and their order. */
export interface Loop {
  readonly sockets: Sockets;
  readonly timetable: Timetable;
  /** Runs `run` after reading everything that is readable now. */
  afterPoll(run: () => void): void;
  /** Creates a stall monitor that knows this loop's deliberate waits. */
  watch(boundMs: number): StallMonitor;
  unwatch(monitor: StallMonitor): void;
  /** Starts serving; may be called again after `stop`. */
  start(): void;
  stop(): void;
  /** Stops for good and releases all resources. */
  close(): void;
}

export interface LoopDeps {
  /** Milliseconds, sub-microsecond resolution, monotonic. */
  readonly monotonic: () => number;
  readonly onError: (error: unknown) => void;
}

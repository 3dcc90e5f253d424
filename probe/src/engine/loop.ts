import type { StallMonitor } from "../domain/stall-monitor.ts";
import type { Sockets } from "./sockets/port.ts";
import type { Timetable } from "./timetable.ts";

export interface Loop {
  readonly sockets: Sockets;
  readonly timetable: Timetable;
  afterPoll(run: () => void): void;
  /** Creates a stall monitor that knows this loop's deliberate waits. */
  watch(boundMs: number): StallMonitor;
  unwatch(monitor: StallMonitor): void;
  start(): void;
  stop(): void;
  close(): void;
}

export interface LoopDeps {
  readonly monotonic: () => number;
  readonly onError: (error: unknown) => void;
}

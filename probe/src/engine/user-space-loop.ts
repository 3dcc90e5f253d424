import { StallMonitor } from "../domain/stall-monitor.ts";
import type { Loop, LoopDeps } from "./loop.ts";
import { UserSpaceSockets } from "./sockets/node.ts";
import { Timetable, type Appointment } from "./timetable.ts";

/** Heartbeat period of the thread; below the smallest stall bound. Milliseconds. */
const BEAT_MS = 8;
const MAX_DELAY_MS = 2 ** 31 - 1;

export class UserSpaceLoop implements Loop {
  readonly sockets: UserSpaceSockets;
  readonly timetable: Timetable;
  readonly #monotonic: () => number;
  readonly #monitors = new Set<StallMonitor>();
  #beat: Appointment | null = null;

  constructor({ monotonic, onError }: LoopDeps) {
    this.#monotonic = monotonic;
    this.sockets = new UserSpaceSockets(monotonic);
    this.timetable = new Timetable({
      monotonic,
      onError,
      setTimer: (run, delayMs) => {
        const timer = setTimeout(run, Math.min(delayMs, MAX_DELAY_MS));
        return () => clearTimeout(timer);
      },
    });
  }

  afterPoll(run: () => void): void {
    setImmediate(run);
  }

  watch(boundMs: number): StallMonitor {
    const monitor = new StallMonitor(boundMs, BEAT_MS, this.#monotonic());
    this.#monitors.add(monitor);
    return monitor;
  }

  unwatch(monitor: StallMonitor): void {
    this.#monitors.delete(monitor);
  }

  start(): void {
    if (this.#beat === null) this.#beatOnce();
  }

  stop(): void {
    this.#beat?.cancel();
    this.#beat = null;
  }

  close(): void {
    this.stop();
    this.timetable.close();
    this.sockets.close();
  }

  #beatOnce(): void {
    const nowMs = this.#monotonic();
    for (const monitor of this.#monitors) monitor.beat(nowMs);
    this.#beat = this.timetable.at(nowMs + BEAT_MS, () => this.#beatOnce());
  }
}

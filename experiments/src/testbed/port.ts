import type { Observation, Placement, PodMove } from "../contenders/port.ts";
import type { Point } from "../scenario/model.ts";

/** Place of measurement: the lab's processes and packets, or the queueing model. */
export interface Testbed {
  readonly name: "model" | "lab";
  /** Description for the report: kernel, cores, enforcement of CPU and links, scale. */
  describe(): Readonly<Record<string, string | number>>;
  start(point: Point, placement: Placement, seed: number, signal: AbortSignal): Promise<Running>;
  close(): Promise<void>;
}

/** A workflow under load. Time passes only in `run`. */
export interface Running {
  beginChanges(): void;
  /**
   * Runs for some seconds and applies changes in them. The load continues until all requests of the interval
   * are settled; later requests belong to the next interval. Lab: wall-clock seconds, which hold 1/S of the
   * requests at scale S.
   */
  run(seconds: number): Promise<Stretch>;
  observe(): Observation;
  /** Moves pods one by one, like evictions: a pod answers nothing until its replacement is ready. */
  move(moves: readonly PodMove[]): Promise<void>;
  stop(): Promise<void>;
}

export interface Stretch {
  /** Milliseconds from the planned send time, in send order; without failed requests. */
  readonly responseMs: Float64Array;
  readonly failed: number;
}

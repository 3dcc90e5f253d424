import type { Observation, Placement, PodMove } from "../contenders/port.ts";
import type { Point } from "../scenario/model.ts";

/** Where cells are measured: the lab's processes and packets, or the queueing model. */
export interface Testbed {
  readonly name: "model" | "lab";
  /** What it is, for the report: kernel, cores, how CPU and links are enforced, scale. */
  describe(): Readonly<Record<string, string | number>>;
  /** Starts the workflow under a placement. */
  start(point: Point, placement: Placement, seed: number, signal: AbortSignal): Promise<Running>;
  close(): Promise<void>;
}

/** A workflow under load. Time passes by `run` alone. */
export interface Running {
  /** Says that the point's changes count their seconds from now on. */
  beginChanges(): void;
  /**
   * Lets so many seconds pass; the changes of the point happen in them. The load goes on until every request
   * of the stretch is settled: what is sent meanwhile is of the next stretch. In the lab seconds are the
   * wall's: at scale S they hold 1/S of the requests.
   */
  run(seconds: number): Promise<Stretch>;
  /** What monitoring says of the last stretch. */
  observe(): Observation;
  /**
   * Begins to move pods, one after the other as an eviction does: the pod answers nothing until its successor
   * is ready. It happens while time passes.
   */
  move(moves: readonly PodMove[]): Promise<void>;
  stop(): Promise<void>;
}

/** Response times of the requests that were sent in a stretch. */
export interface Stretch {
  /**
   * Milliseconds from the planned moment of the request, in the order of sending; failed ones are not among
   * them.
   */
  readonly responseMs: Float64Array;
  readonly failed: number;
}

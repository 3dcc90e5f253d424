import type { Random } from "@isochrone/runtime";
import type { ContenderId, Point, PointCluster } from "../scenario/model.ts";

/** Node name by pod name (`workload-0`, `workload-1`, ...). */
export type Placement = ReadonlyMap<string, string>;

/**
 * What a contender may know of the running workflow: what Isochrone's monitoring would tell it, or Prometheus
 * the paper's operators.
 */
export interface Observation {
  /** The cluster as it is now: nodes that are left, round trips as measured. */
  readonly cluster: PointCluster;
  /** By workload: mean use of its pods. */
  readonly use: ReadonlyMap<string, { readonly cpuMillicores: number; readonly memoryBytes: number }>;
  /** Rates between workloads, both directions of a call together. */
  readonly traffic: readonly ObservedChannel[];
}

export interface ObservedChannel {
  readonly source: string;
  readonly target: string;
  readonly requestsPerSecond: number;
  readonly bytesPerSecond: number;
}

export interface PodMove {
  readonly pod: string;
  readonly from: string;
  readonly to: string;
}

/**
 * `until-content`: rounds take as long as they take, each goes on until something is moved or nothing will
 * be; `in-time`: it has one look a round.
 */
export type Pace = "until-content" | "in-time";

/** Decides where pods go. One per trial: it may remember its earlier rounds. */
export interface Contender {
  readonly id: ContenderId;
  /** Who decided, for the report: `kube-scheduler 1.35.8`, `imitation of kube-scheduler`, ... */
  readonly by: string;
  /**
   * Places pods on the nodes of `point.cluster`. `before`: what was observed of the same workflow under an
   * earlier placement; null: it has never run. `kept`: pods that stay where they are, as after a node's end,
   * when the others alone are placed; the answer has them too.
   */
  place(point: Point, before: Observation | null, random: Random, kept?: Placement): Promise<Placement>;
  /**
   * One round of re-placing: the moves that it makes now; none: it is content, or waits. All pods of
   * `placement` are on nodes of `observed.cluster`.
   */
  adjust(
    point: Point,
    placement: Placement,
    observed: Observation,
    random: Random,
    pace: Pace,
  ): Promise<readonly PodMove[]>;
  close(): Promise<void>;
}

/** Raised when a contender can't place a pod; the cell is recorded as failed with this reason. */
export class ContenderError extends Error {
  readonly contender: ContenderId;

  constructor(contender: ContenderId, message: string, options?: ErrorOptions) {
    super(`${contender}: ${message}`, options);
    this.name = "ContenderError";
    this.contender = contender;
  }
}

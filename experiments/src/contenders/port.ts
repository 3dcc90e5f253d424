import type { Random } from "@isochrone/runtime";
import type { ContenderId, Point, PointCluster } from "../scenario/model.ts";

/** Node name by pod name (`workload-0`, `workload-1`, ...). */
export type Placement = ReadonlyMap<string, string>;

/** Data that a contender may use, as from Isochrone's monitoring or, in the papers, Prometheus. */
export interface Observation {
  readonly cluster: PointCluster;
  /** Mean usage per pod, by workload. */
  readonly use: ReadonlyMap<string, { readonly cpuMillicores: number; readonly memoryBytes: number }>;
  /** Rates between workloads, both directions of a call added. */
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

/** `until-content`: rounds end when something moves or nothing will. `in-time`: one evaluation each. */
export type Pace = "until-content" | "in-time";

/** Decides where pods run. One instance per trial; it may keep state between rounds. */
export interface Contender {
  readonly id: ContenderId;
  /** Scheduler name for the report: `kube-scheduler 1.35.8`, `imitation of kube-scheduler`, ... */
  readonly by: string;
  /**
   * Places pods on the nodes of `point.cluster`. `before`: observation under an earlier placement; null:
   * never run. `kept`: pods that stay, as after a node failure; the result includes them.
   */
  place(point: Point, before: Observation | null, random: Random, kept?: Placement): Promise<Placement>;
  /**
   * Runs one round of re-placement and returns its moves; none: content, or waiting. All pods of `placement`
   * run on nodes of `observed.cluster`.
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

/** Thrown if a contender can't place a pod. The cell is recorded as failed with this reason. */
export class ContenderError extends Error {
  readonly contender: ContenderId;

  constructor(contender: ContenderId, message: string, options?: ErrorOptions) {
    super(`${contender}: ${message}`, options);
    this.name = "ContenderError";
    this.contender = contender;
  }
}

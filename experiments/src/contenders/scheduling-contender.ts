import type { Random } from "@isochrone/runtime";
import { reasonOf } from "@isochrone/primitives";
import type { ContenderId, Point } from "../scenario/model.ts";
import { clusterGraph, usedAmounts, workflowGraph } from "./graphs.ts";
import type { SchedulingRequest } from "./kube-scheduler/port.ts";
import { requestOf, together } from "./pods.ts";
import { ContenderError } from "./port.ts";
import type { Contender, Observation, Placement, PodMove } from "./port.ts";
import type { Graphs } from "./strategy-plugin.ts";

export interface SchedulingInput {
  readonly point: Point;
  readonly before: Observation | null;
  readonly request: SchedulingRequest;
  readonly random: Random;
}

export abstract class SchedulingContender implements Contender {
  abstract readonly id: ContenderId;
  abstract readonly by: string;

  /** Returns nodes of the pending pods. Throws if a pod has no node. */
  protected abstract schedule(input: SchedulingInput): Placement | Promise<Placement>;

  async place(
    point: Point,
    before: Observation | null,
    random: Random,
    kept: Placement = new Map(),
  ): Promise<Placement> {
    const request = requestOf(point, before?.cluster ?? point.cluster, kept);
    try {
      return together(request, await this.schedule({ point, before, request, random }));
    } catch (error) {
      throw new ContenderError(this.id, reasonOf(error), { cause: error });
    }
  }

  abstract adjust(
    point: Point,
    placement: Placement,
    observed: Observation,
    random: Random,
  ): Promise<readonly PodMove[]>;

  async close(): Promise<void> {}
}

export abstract class StayingContender extends SchedulingContender {
  async adjust(): Promise<readonly PodMove[]> {
    return [];
  }
}

export function graphsOf(point: Point, observed: Observation | null, placement: Placement): Graphs {
  const cluster = observed?.cluster ?? point.cluster;
  return {
    cluster: clusterGraph(cluster, { used: usedAmounts(point, placement, observed) }),
    workflow: workflowGraph(point, observed, { placement }),
  };
}

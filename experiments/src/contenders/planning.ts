// Converts a point to the planner's problem with the service's steps: raw objects, the model of
// kube-scheduler's filters, the graphs.
import { planProblem, replacementOf, SchedulingModel } from "@isochrone/placement";
import type { FeasiblePlanProblem, SpreadLimits } from "@isochrone/placement";
import type { Point, PointWorkflow } from "../scenario/model.ts";
import { nodeObject, podObject } from "./api-objects.ts";
import type { PodObject } from "./api-objects.ts";
import type { ProductSettings } from "./deps.ts";
import { clusterGraph, usedAmounts, workflowGraph } from "./graphs.ts";
import type { SchedulingRequest } from "./kube-scheduler/port.ts";
import { staying } from "./pods.ts";
import type { Observation } from "./port.ts";

export interface Planning {
  readonly model: SchedulingModel;
  /** Planned pods, in the problem's order. */
  readonly pods: readonly PodObject[];
  readonly problem: FeasiblePlanProblem;
}

interface PlanningInput {
  readonly point: Point;
  readonly before: Observation | null;
  readonly request: SchedulingRequest;
  readonly spread: SpreadLimits;
  /** Current uid of a pod. @default its name */
  readonly uidOf?: (pod: string) => string;
}

export function planningOfWaiting(input: PlanningInput): Planning {
  const { request, uidOf = (pod) => pod } = input;
  const pods = request.pods.map((pod) => podObject(pod, uidOf(pod.name), null));
  return planningOf(input, pods);
}

/** Plans placed pods anew. @param mayMove false: the pod stays */
export function planningOfPlaced(input: PlanningInput, mayMove: (pod: PodObject) => boolean): Planning {
  const pods = placedObjects(input).filter((pod) => mayMove(pod));
  return planningOf(input, pods.map(replacementOf));
}

export function placedObjects({ request, uidOf = (pod) => pod }: PlanningInput): PodObject[] {
  return request.placed.map(([pod, node]) => podObject(pod, uidOf(pod.name), node));
}

function planningOf(input: PlanningInput, pods: readonly PodObject[]): Planning {
  const { point, before, request, spread } = input;
  const placement = staying(request);
  const model = SchedulingModel.of({ nodes: request.nodes.map(nodeObject), pods: placedObjects(input) });
  const all = [...request.pods, ...request.placed.map(([pod]) => pod)];
  const workloads = new Map(all.map(({ name, workload }) => [name, workload]));
  const problem = planProblem({
    model,
    pods,
    cluster: clusterGraph(before?.cluster ?? point.cluster, { used: usedAmounts(point, placement, before) }),
    workflow: workflowGraph(point, before, { placement }),
    prices: point.cluster.prices,
    spread,
    workloadOf: ({ metadata }) => workloads.get(metadata.name) ?? null,
  });
  return { model, pods, problem };
}

/** Reads limits like the service; 0: unlimited. A scenario may override `planner.minZones`. */
export function spreadLimits(
  planner: ProductSettings["planner"],
  { minZones = planner.minZones }: Pick<PointWorkflow, "minZones">,
): SpreadLimits {
  const { hostnameMaxSkew, zoneMaxSkew, minNodes } = planner;
  const limit = (skew: number): number | null => (skew === 0 ? null : skew);
  return { hostnameMaxSkew: limit(hostnameMaxSkew), zoneMaxSkew: limit(zoneMaxSkew), minNodes, minZones };
}

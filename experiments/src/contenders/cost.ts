// Cost of placements, the same for all contenders: the planner's objective, with usage in place of requests.
import { createObjective } from "@isochrone/placement";
import type { PlanCost, PlanProblem, SpreadLimits } from "@isochrone/placement";
import type { Point } from "../scenario/model.ts";
import type { SchedulingRequest, WaitingPod } from "./kube-scheduler/port.ts";
import { planningOfWaiting } from "./planning.ts";
import type { Planning } from "./planning.ts";
import { requestOf } from "./pods.ts";
import type { Observation, Placement } from "./port.ts";

/** The objective judges assignments without rules. */
const NO_RULES: SpreadLimits = { hostnameMaxSkew: null, zoneMaxSkew: null, minNodes: 1, minZones: 1 };

/** Bytes per second x milliseconds, by the observation. Ignores pods without a node. */
export function placementCost(point: Point, observed: Observation, placement: Placement): PlanCost {
  const request = requestOf(point, observed.cluster, new Map());
  const { problem } = planningByUse({ point, before: observed, request, spread: NO_RULES });
  const indexOf = new Map(problem.nodes.map(({ name }, index) => [name, index]));
  const assignment = Int32Array.from(
    problem.pods,
    ({ name }) => indexOf.get(placement.get(name) ?? "") ?? -1,
  );
  return createObjective(problem).total(assignment);
}

interface PlanningByUseInput {
  readonly point: Point;
  readonly before: Observation | null;
  readonly request: SchedulingRequest;
  readonly spread: SpreadLimits;
}

/** Node capacities bound both usage, which loads them, and requests, which kube-scheduler checks. */
export function planningByUse(input: PlanningByUseInput): Planning {
  const { before, request } = input;
  const use = (pod: WaitingPod): WaitingPod => {
    const used = before?.use.get(pod.workload);
    if (used === undefined) return pod;
    return {
      ...pod,
      cpuMillicores: Math.ceil(used.cpuMillicores),
      memoryBytes: Math.ceil(used.memoryBytes),
    };
  };
  const planning = planningOfWaiting({
    ...input,
    request: {
      ...request,
      pods: request.pods.map(use),
      placed: request.placed.map(([pod, node]) => [use(pod), node] as const),
    },
  });
  return { ...planning, problem: { ...planning.problem, ...withRequests(planning.problem, request) } };
}

/** Not the names of resources with a gradual shortage cost. */
const REQUESTED = ["requested cpu", "requested memory"];

function withRequests(
  { nodes, pods, resources }: PlanProblem,
  request: SchedulingRequest,
): Pick<PlanProblem, "nodes" | "pods" | "resources"> {
  const podOf = new Map(request.pods.map((pod) => [pod.name, pod]));
  const extended = (amounts: Float64Array, cpu: number, memory: number): Float64Array =>
    Float64Array.from([...amounts, cpu, memory]);
  return {
    resources: [...resources, ...REQUESTED],
    pods: pods.map((pod) => {
      const { cpuMillicores, memoryBytes } = podOf.get(pod.name)!;
      return { ...pod, demand: extended(pod.demand, cpuMillicores, memoryBytes) };
    }),
    nodes: nodes.map((node, index) => {
      const { name, cpuMillicores, memoryBytes } = request.nodes[index]!;
      const there = request.placed.filter(([, on]) => on === name).map(([pod]) => pod);
      const cpu = there.reduce((sum, pod) => sum + pod.cpuMillicores, 0);
      const memory = there.reduce((sum, pod) => sum + pod.memoryBytes, 0);
      return {
        ...node,
        free: extended(node.free, cpuMillicores - cpu, memoryBytes - memory),
        allocatable: extended(node.allocatable, cpuMillicores, memoryBytes),
      };
    }),
  };
}

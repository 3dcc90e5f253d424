import { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import type { Workload } from "@isochrone/topology";
import type { ApiObject } from "../objects/json.ts";
import type { FeasiblePlanProblem, PlanInput } from "../planning/plan-input.ts";
import { planProblem } from "../planning/plan-problem.ts";
import type { SchedulingModel } from "../scheduling-model.ts";

const OBSERVED = "2026-01-01T00:00:00.000Z";

export function problemOf(
  model: SchedulingModel,
  pods: readonly ApiObject[],
  fields: Partial<PlanInput> = {},
  workloads: readonly string[] = [],
): FeasiblePlanProblem {
  const cluster = new ClusterGraph({
    version: 1,
    observedAt: OBSERVED,
    windowSeconds: 30,
    nodes: [],
    links: [],
  });
  const workflow = new WorkflowGraph({
    version: 1,
    observedAt: OBSERVED,
    namespace: "default",
    name: "flow",
    workloads: workloads.map((name): Workload => ({
      name,
      kind: "Deployment",
      namespace: "default",
      cpuMillicores: null,
      memoryBytes: null,
      pods: [],
    })),
    channels: [],
  });
  return planProblem({ model, pods, cluster, workflow, ...fields });
}

export function allowedNodes({ nodes, pods }: FeasiblePlanProblem, pod = 0): string[] {
  const { allowed } = pods[pod]!;
  return nodes.filter((_, index) => allowed === null || allowed[index] === 1).map(({ name }) => name);
}

import { WorkflowGraph, type ClusterGraph } from "@isochrone/topology";
import { createObjective } from "../planner/objective/objective.ts";
import type { PlanNode, PlanPod, PlanProblem } from "../planner/objective/plan-problem.ts";
import type { PlanSettings } from "../planner/objective/plan-settings.ts";

interface LossInput {
  readonly cluster: ClusterGraph;
  readonly workflow: WorkflowGraph;
  readonly workload: string;
  /** Usable CPU of a replica, millicores. Null: unknown, and no zone counts as starving. */
  readonly replicaCpu: number | null;
  readonly prices?: PlanProblem["prices"] | undefined;
  readonly settings: Partial<PlanSettings>;
}

/**
 * Yields the objective without each pod, its work taken over by the others. A generator, because large
 * workloads take long.
 */
export function* podLosses(input: LossInput): Generator<readonly [pod: string, loss: number]> {
  const { cluster, workflow, workload, replicaCpu, prices } = input;
  const places = [...workflow.replicas(workload)].flatMap(([name, node]) =>
    node === null ? [] : [{ name, node }],
  );
  const nodes = [...new Set(places.map(({ node }) => node))];
  const planNodes = nodes.map((name) => planNode(cluster, name));
  const settings = { ...input.settings, pressureShare: 0, moveCost: 0 };
  for (const gone of places) {
    const left = places.filter((each) => each !== gone);
    const problem: PlanProblem = {
      nodes: planNodes,
      pods: left.map(({ name, node }) => planPod(workflow, workload, name, nodes.indexOf(node))),
      resources: [],
      constraints: [],
      cluster,
      workflow: withoutPod(workflow, workload, gone.name, places.length),
      ...(prices === undefined ? {} : { prices }),
      ...(replicaCpu === null ? {} : { replicaCpu: new Map([[workload, replicaCpu]]) }),
    };
    const assignment = Int32Array.from(problem.pods, ({ current }) => current);
    yield [gone.name, createObjective(problem, settings).total(assignment).total];
  }
}

const NOTHING = new Float64Array(0);

function planNode(cluster: ClusterGraph, name: string): PlanNode {
  const node = cluster.node(name);
  return {
    name,
    zone: node?.zone ?? null,
    region: node?.region ?? null,
    free: NOTHING,
    allocatable: NOTHING,
  };
}

function planPod(workflow: WorkflowGraph, workload: string, name: string, current: number): PlanPod {
  return { namespace: workflow.namespace, name, workload, demand: NOTHING, allowed: null, current };
}

function withoutPod(workflow: WorkflowGraph, workload: string, gone: string, placed: number): WorkflowGraph {
  const { version, observedAt, namespace, name, channels } = workflow;
  const changed = workflow.workload(workload);
  return new WorkflowGraph({
    version,
    observedAt,
    namespace,
    name,
    channels: [...channels],
    workloads: workflow.workloads.map((each) => {
      if (each !== changed) return each;
      const { cpuMillicores, pods } = each;
      const more = placed > 1 ? placed / (placed - 1) : 1;
      return {
        ...each,
        cpuMillicores: cpuMillicores === null ? null : cpuMillicores * more,
        pods: pods.filter((pod) => pod.name !== gone),
      };
    }),
  });
}

// What a workflow's placement costs today, what the best plan would cost, and which moves lie between.
import type { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import { createObjective, type PlanCost } from "../planner/objective.ts";
import { plan, type Plan } from "../planner/plan.ts";
import type { PlanSettings } from "../planner/plan-settings.ts";
import { isTerminating, keyOf, record, records, type ApiObject } from "./json.ts";
import type { FeasiblePlanProblem } from "./plan-input.ts";
import { planProblem } from "./plan-problem.ts";
import type { SchedulingModel } from "./scheduling-model.ts";
import type { SpreadLimits } from "./spread-limits.ts";

export interface PlannedMove {
  readonly pod: string;
  readonly workload: string;
  readonly from: string;
  readonly to: string;
  /** What this move alone would save, bytes/s x ms; below 0: it pays only together with others. */
  readonly savesAlone: number;
}

export interface WorkflowPlanReport {
  /** namespace/name */
  readonly workflow: string;
  readonly pods: number;
  readonly today: PlanCost;
  readonly best: PlanCost;
  readonly moves: readonly PlannedMove[];
  /** Pods that stay where they are, with the reason. */
  readonly kept: readonly { readonly pod: string; readonly reason: string }[];
  /** What else there is to know, in sentences. */
  readonly notes: readonly string[];
}

export interface RunningWorkflowInput {
  readonly model: SchedulingModel;
  /** Of the cluster's pods. @param key namespace/name */
  readonly podOf: (key: string) => ApiObject | undefined;
  readonly cluster: ClusterGraph;
  readonly workflow: WorkflowGraph;
  /** @default DEFAULT_SPREAD */
  readonly spread?: Partial<SpreadLimits>;
}

export interface WorkflowPlanInput extends Omit<RunningWorkflowInput, "podOf"> {
  /** All of the cluster. */
  readonly pods: readonly ApiObject[];
  readonly seed: number;
  /** @default DEFAULT_PLAN_SETTINGS */
  readonly cost?: CostSettings;
  /** For the search, milliseconds. */
  readonly budgetMs: number;
  readonly now: () => number;
}

type CostSettings = Partial<Pick<PlanSettings, "bytesPerRequest" | "maxCpuUse">>;

/** The pods of a workflow that run, to be placed anew. */
export interface RunningWorkflow {
  /** Of those that may move. */
  readonly problem: FeasiblePlanProblem;
  readonly kept: WorkflowPlanReport["kept"];
}

/** Null for a workflow of which no pod runs. Nothing is changed. */
export function workflowPlan(input: WorkflowPlanInput): WorkflowPlanReport | null {
  const { pods, seed, budgetMs, now, cost = {} } = input;
  const byKey = new Map(pods.map((pod) => [keyOf(pod), pod]));
  const running = runningWorkflow({ ...input, podOf: (key) => byKey.get(key) });
  if (running === null) return null;
  const found = plan(running.problem, { seed, now, deadlineMs: now() + budgetMs, ...cost });
  return workflowPlanReport(running, found, cost);
}

/** What {@link workflowPlan} searches, for whoever searches elsewhere. Null for a workflow of which no pod runs. */
export function runningWorkflow(input: RunningWorkflowInput): RunningWorkflow | null {
  const { model, cluster, workflow, spread } = input;
  const { movable, kept } = podsOf(input);
  if (movable.length === 0 && kept.length === 0) return null;
  const workloads = new Map(movable.map(({ object, workload }) => [object, workload]));
  const problem = planProblem({
    model,
    pods: movable.map(({ object }) => object),
    cluster,
    workflow,
    workloadOf: (object) => workloads.get(object) ?? null,
    ...(spread === undefined ? {} : { spread }),
  });
  return { problem, kept };
}

/** What was found for it, held against where its pods are. */
export function workflowPlanReport(
  { problem, kept }: RunningWorkflow,
  found: Pick<Plan, "assignment" | "complete" | "traffic" | "networkKnown"> & { readonly cost: PlanCost },
  options: CostSettings = {},
): WorkflowPlanReport {
  const current = Int32Array.from(problem.pods, (pod) => pod.current);
  const objective = createObjective(problem, options);
  const today = objective.total(current);
  const isBetter = found.complete && found.cost.total < today.total;
  const target = isBetter ? stayingPut(problem, current, found.assignment) : current;
  const moves = [...target.keys()]
    .filter((pod) => target[pod] !== current[pod])
    .map((pod): PlannedMove => {
      return {
        pod: problem.pods[pod]!.name,
        workload: problem.pods[pod]!.workload ?? "",
        from: problem.nodes[current[pod]!]!.name,
        to: problem.nodes[target[pod]!]!.name,
        savesAlone: -objective.moveDelta(current, pod, target[pod]!),
      };
    })
    .sort((a, b) => b.savesAlone - a.savesAlone);
  const notes = [...problem.notes];
  if (!found.complete) notes.push("no plan has room for all pods");
  if (found.traffic === "declared") notes.push("no rate is known: declared priorities stood in for them");
  if (found.traffic === "none") notes.push("nothing is known of what its pods say to each other");
  if (!found.networkKnown) notes.push("no network cost is known");
  return {
    workflow: `${problem.workflow.namespace}/${problem.workflow.name}`,
    pods: problem.pods.length + kept.length,
    today,
    best: isBetter ? objective.total(target) : today,
    moves,
    kept,
    notes,
  };
}

interface MovablePod {
  readonly object: ApiObject;
  readonly workload: string;
}

/** The pods of the workflow that run, as the graph shows them; far ends of its channels in other namespaces are not its to place. */
function podsOf({ model, podOf, workflow }: RunningWorkflowInput): {
  movable: MovablePod[];
  kept: { pod: string; reason: string }[];
} {
  const movable: MovablePod[] = [];
  const kept: { pod: string; reason: string }[] = [];
  for (const workload of workflow.workloads) {
    if (workload.namespace !== workflow.namespace) continue;
    for (const { name } of workload.pods) {
      const object = podOf(`${workload.namespace}/${name}`);
      if (object === undefined || model.nodeOf(keyOf(object)) === undefined) continue;
      const reason = reasonToKeep(object, model);
      if (reason === null) movable.push({ object, workload: workload.name });
      else kept.push({ pod: name, reason });
    }
  }
  return { movable, kept };
}

function reasonToKeep(pod: ApiObject, model: SchedulingModel): string | null {
  const owners = records(record(pod.metadata)["ownerReferences"]);
  if (owners.some(({ kind }) => kind === "DaemonSet")) return "it is a DaemonSet's";
  if (owners.some(({ kind }) => kind === "Node")) return "it is a static pod";
  if (isTerminating(pod)) return "it is being deleted";
  const unsupported = model.unsupported(pod);
  return unsupported.length === 0 ? null : unsupported.join("; ");
}

/** Replicas of a workload may take each other's nodes: those stay whose node is in the plan anyway. */
function stayingPut(problem: FeasiblePlanProblem, current: Int32Array, assignment: Int32Array): Int32Array {
  const result = assignment.slice();
  const replicas = new Map<string, number[]>();
  for (const [index, { workload, namespace }] of problem.pods.entries()) {
    const key = `${namespace}/${workload ?? `pod ${index}`}`;
    replicas.set(key, [...(replicas.get(key) ?? []), index]);
  }
  for (const pods of replicas.values()) {
    const left = pods.map((pod) => assignment[pod]!);
    const moving: number[] = [];
    for (const pod of pods) {
      const at = left.indexOf(current[pod]!);
      if (at < 0) moving.push(pod);
      else {
        left.splice(at, 1);
        result[pod] = current[pod]!;
      }
    }
    for (const [index, pod] of moving.entries()) result[pod] = left[index]!;
  }
  return result;
}

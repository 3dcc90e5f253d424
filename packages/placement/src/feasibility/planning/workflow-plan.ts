import type { PairPrices } from "@isochrone/prices";
import type { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import { plan } from "../../planner/search/plan.ts";
import type { Metadata } from "../objects/fields.ts";
import { isTerminating, keyOf, record, records, type ApiObject } from "../objects/json.ts";
import type { FeasiblePlanProblem } from "./plan-input.ts";
import { planProblem } from "./plan-problem.ts";
import type {
  CostSettings,
  FoundPlan,
  PreviousMoves,
  RunningWorkflow,
  WorkflowPlanReport,
} from "./plan-report.ts";
import type { SchedulingModel } from "../scheduling-model.ts";
import { searchSettings, WorkflowSteps } from "./workflow-steps.ts";
import type { SpreadLimits } from "../objects/spread-limits.ts";

interface RunningWorkflowInput {
  readonly model: SchedulingModel;
  /** @param key namespace/name */
  readonly podOf: (key: string) => ApiObject | undefined;
  readonly cluster: ClusterGraph;
  readonly workflow: WorkflowGraph;
  readonly prices?: PairPrices | undefined;
  readonly spread?: Partial<SpreadLimits>;
  /** Why the pod can't be moved now. Null: it can. @default all can */
  readonly obstacleOf?: ((pod: ApiObject) => string | null) | undefined;
}

export interface WorkflowPlanInput extends Omit<RunningWorkflowInput, "podOf"> {
  readonly pods: readonly ApiObject[];
  readonly seed: number;
  /** Displayed steps, kept unless others are clearly better. @default none */
  readonly previous?: PreviousMoves;
  readonly cost?: CostSettings;
  /** Search time, milliseconds. */
  readonly budgetMs: number;
  readonly now: () => number;
}

/** Plans a running workflow. Returns null if none of its pods runs. */
export function workflowPlan(input: WorkflowPlanInput): WorkflowPlanReport | null {
  const { pods, seed, budgetMs, now, previous = [] } = input;
  const cost: CostSettings = { ...input.spread, ...input.cost };
  const byKey = new Map(pods.map((pod) => [keyOf(pod), pod]));
  const running = runningWorkflow({ ...input, podOf: (key) => byKey.get(key) });
  if (running === null) return null;
  const settings = searchSettings(running.problem, cost);
  const search = (problem: FeasiblePlanProblem): FoundPlan =>
    plan(problem, { seed, now, deadlineMs: now() + budgetMs, ...settings });
  const open = search(openProblem(running));
  const beyond = blockedProblem(running, open);
  const steps = new WorkflowSteps(running, cost);
  const found = { open, blocked: beyond === null ? null : search(beyond) };
  const held = steps.again(previous);
  const fresh = steps.fresh(found);
  const shown = held.steps.length > 0 && !steps.isClearlyBetter(fresh, held) ? held : fresh;
  return steps.report(shown, found);
}

export function openProblem({ problem, blocked }: RunningWorkflow): FeasiblePlanProblem {
  return blocked.size === 0 ? problem : withFixed(problem, (pod) => (blocked.has(pod) ? null : undefined));
}

/** Fixes all other pods at their planned nodes. Null: no pod is blocked. */
export function blockedProblem(
  { problem, blocked }: RunningWorkflow,
  { assignment, complete }: FoundPlan,
): FeasiblePlanProblem | null {
  if (blocked.size === 0) return null;
  return withFixed(problem, (pod) => (blocked.has(pod) ? undefined : complete ? assignment[pod]! : null));
}

/** @param nodeOf null: fix at the current node; undefined: no restriction */
function withFixed(
  problem: FeasiblePlanProblem,
  nodeOf: (pod: number) => number | null | undefined,
): FeasiblePlanProblem {
  const pods = problem.pods.map((pod, index) => {
    const node = nodeOf(index);
    if (node === undefined) return pod;
    const allowed = new Uint8Array(problem.nodes.length);
    allowed[node ?? pod.current] = 1;
    return { ...pod, allowed };
  });
  return { ...problem, pods };
}

/** Prepares the input of {@link workflowPlan} for external searches. Null: no pod runs. */
export function runningWorkflow(input: RunningWorkflowInput): RunningWorkflow | null {
  const { model, cluster, workflow, prices, spread, obstacleOf = () => null } = input;
  const { movable, kept } = podsOf(input);
  if (movable.length === 0 && kept.length === 0) return null;
  const workloads = new Map(movable.map(({ object, workload }) => [object, workload]));
  const problem = planProblem({
    model,
    pods: movable.map(({ object }) => object),
    cluster,
    workflow,
    prices,
    workloadOf: (object) => workloads.get(object) ?? null,
    ...(spread === undefined ? {} : { spread }),
  });
  const byName = new Map(movable.map(({ object }) => [object.metadata.name, object]));
  const blocked = new Map<number, string>();
  for (const [index, { name }] of problem.pods.entries()) {
    const obstacle = obstacleOf(byName.get(name)!);
    if (obstacle !== null) blocked.set(index, obstacle);
  }
  return { problem, kept, blocked };
}

interface MovablePod {
  readonly object: ApiObject;
  readonly workload: string;
}

/** Excludes far ends of channels in other namespaces. */
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
  const owners = records(record<Metadata>(pod.metadata).ownerReferences);
  if (owners.some(({ kind }) => kind === "DaemonSet")) return "it is a DaemonSet's";
  if (owners.some(({ kind }) => kind === "Node")) return "it is a static pod";
  if (isTerminating(pod)) return "it is being deleted";
  const unsupported = model.unsupported(pod);
  return unsupported.length === 0 ? null : unsupported.join("; ");
}

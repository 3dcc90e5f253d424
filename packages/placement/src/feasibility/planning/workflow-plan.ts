// What a workflow's placement costs today, what the best plan would cost, and which moves lie between.
import type { PairPrices } from "@isochrone/prices";
import type { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import { costModel, createObjective, objectiveOf, type PlanCost } from "../../planner/objective/objective.ts";
import { FALLBACK_WORDS } from "../../planner/objective/money.ts";
import { trafficCosts, type TrafficCosts } from "../../planner/objective/traffic-costs.ts";
import { choosePlan } from "../../planner/search/plan-choice.ts";
import { ENDED_WORDS } from "../../planner/search/search.ts";
import { plan, type Plan } from "../../planner/search/plan.ts";
import { planSettings, type PlanSettings } from "../../planner/objective/plan-settings.ts";
import type { Metadata } from "../objects/fields.ts";
import { isTerminating, keyOf, record, records, type ApiObject } from "../objects/json.ts";
import type { FeasiblePlanProblem } from "./plan-input.ts";
import { planProblem } from "./plan-problem.ts";
import type { SchedulingModel } from "../scheduling-model.ts";
import type { SpreadLimits } from "../objects/spread-limits.ts";

interface PlannedMove {
  readonly pod: string;
  readonly workload: string;
  readonly from: string;
  readonly to: string;
  /** What the plan would cost more without this move, bytes/s x ms. */
  readonly gain: number;
  /** Why it can't be made once those before it are made, in words; null: it can. */
  readonly obstacle: string | null;
}

export interface WorkflowPlanReport {
  /** namespace/name */
  readonly workflow: string;
  readonly pods: number;
  readonly today: PlanCost & TrafficCosts;
  readonly best: PlanCost & TrafficCosts;
  /** What `perMonth` is in; null: no prices were read. */
  readonly currency: string | null;
  /** Share of what the network costs today that the plan saves; null where it costs nothing. */
  readonly savedRatio: number | null;
  /** In the order in which they are to be made: those that bring most first, as far as there is room. */
  readonly moves: readonly PlannedMove[];
  /** Pods that stay where they are, with the reason. */
  readonly kept: readonly { readonly pod: string; readonly reason: string }[];
  /** What else there is to know, in sentences. */
  readonly notes: readonly string[];
}

interface RunningWorkflowInput {
  readonly model: SchedulingModel;
  /** Of the cluster's pods. @param key namespace/name */
  readonly podOf: (key: string) => ApiObject | undefined;
  readonly cluster: ClusterGraph;
  readonly workflow: WorkflowGraph;
  /** See PlanProblem. */
  readonly prices?: PairPrices | undefined;
  /** @default DEFAULT_SPREAD */
  readonly spread?: Partial<SpreadLimits>;
}

export interface WorkflowPlanInput extends Omit<RunningWorkflowInput, "podOf"> {
  /** All of the cluster. */
  readonly pods: readonly ApiObject[];
  readonly seed: number;
  /** What was proposed before, which is kept unless another plan is clearly better. @default nothing */
  readonly previous?: PreviousMoves;
  /** @default DEFAULT_PLAN_SETTINGS */
  readonly cost?: CostSettings;
  /** For the search, milliseconds. */
  readonly budgetMs: number;
  readonly now: () => number;
}

/** By pod, the node that it was to move to. */
export type PreviousMoves = ReadonlyMap<string, string>;

type CostSettings = Partial<
  Pick<PlanSettings, "bytesPerRequest" | "maxCpuUse" | "maxLatencyLoss" | "moneyShare">
>;

/** The pods of a workflow that run, to be placed anew. */
interface RunningWorkflow {
  /** Of those that may move. */
  readonly problem: FeasiblePlanProblem;
  readonly kept: WorkflowPlanReport["kept"];
}

/** Null for a workflow of which no pod runs. Nothing is changed. */
export function workflowPlan(input: WorkflowPlanInput): WorkflowPlanReport | null {
  const { pods, seed, budgetMs, now, previous, cost = {} } = input;
  const byKey = new Map(pods.map((pod) => [keyOf(pod), pod]));
  const running = runningWorkflow({ ...input, podOf: (key) => byKey.get(key) });
  if (running === null) return null;
  const moveCost = moveCostOf(running.problem, cost);
  const found = plan(running.problem, { seed, now, deadlineMs: now() + budgetMs, ...cost, moveCost });
  return workflowPlanReport(running, found, { ...cost, moveCost }, previous);
}

/**
 * What {@link workflowPlan} searches, for whoever searches elsewhere. Null for a workflow of which no pod
 * runs.
 */
export function runningWorkflow(input: RunningWorkflowInput): RunningWorkflow | null {
  const { model, cluster, workflow, prices, spread } = input;
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
  return { problem, kept };
}

/** A move must bring so much, bytes/s x ms: a kilobyte per second one millisecond sooner. */
const LEAST_GAIN = 1_000;
/**
 * And such a share of what the workflow's network costs. Like the descheduler's own defaults: it would not
 * make a move that brings less.
 */
const LEAST_GAIN_SHARE = 0.005;

/**
 * What each move is to cost in the search, so that plans have few moves, and none that brings nearly nothing.
 */
export function moveCostOf(problem: FeasiblePlanProblem, options: CostSettings = {}): number {
  const model = costModel(problem, planSettings(options));
  const { network } = objectiveOf(model).total(currentOf(problem));
  // Declared priorities that stand in for rates are no bytes.
  const least = model.traffic.source === "measured" ? LEAST_GAIN : 0;
  return Math.max(least, LEAST_GAIN_SHARE * network);
}

/** What was found for it, held against where its pods are and against what was proposed before. */
export function workflowPlanReport(
  { problem, kept }: RunningWorkflow,
  found: Pick<Plan, "assignment" | "complete" | "ended" | "fallback" | "traffic" | "networkKnown">,
  options: CostSettings & Pick<PlanSettings, "moveCost">,
  previous: PreviousMoves = new Map(),
): WorkflowPlanReport {
  const current = currentOf(problem);
  const { moveCost: _, ...cost } = options;
  // Without what moves cost: that is for choosing among plans.
  const objective = createObjective(problem, cost);
  const assignment = found.complete ? stayingPut(problem, current, found.assignment) : null;
  const model = costModel(problem, planSettings(options));
  const { target, moves } = choosePlan(model, assignment, assignmentOf(problem, previous));
  const { bytesPerRequest } = model.settings;
  const [today, best] = [current, target].map((assignment) => ({
    ...objective.total(assignment),
    ...trafficCosts(problem, assignment, bytesPerRequest),
  }));
  const notes = [...problem.notes];
  if (!found.complete) notes.push("no plan has room for all pods");
  else notes.push(ENDED_WORDS[found.ended]);
  if (found.fallback !== null) notes.push(`latency decided, not money: ${FALLBACK_WORDS[found.fallback]}`);
  if (found.traffic === "declared") notes.push("no rate is known: declared priorities stood in for them");
  if (found.traffic === "none") notes.push("nothing is known of what its pods say to each other");
  if (!found.networkKnown) notes.push("no network cost is known");
  return {
    workflow: `${problem.workflow.namespace}/${problem.workflow.name}`,
    pods: problem.pods.length + kept.length,
    today: today!,
    best: best!,
    currency: problem.prices?.currency ?? null,
    savedRatio: today!.network > 0 ? 1 - best!.network / today!.network : null,
    moves: moves.map(({ pod, node, gain, obstacle }): PlannedMove => {
      const { name, workload } = problem.pods[pod]!;
      const [from, to] = [problem.nodes[current[pod]!]!.name, problem.nodes[node]!.name];
      return { pod: name, workload: workload ?? "", from, to, gain, obstacle };
    }),
    kept,
    notes,
  };
}

/** In a sentence, and the same one everywhere. */
export function planVerdict({ pods, moves, savedRatio }: WorkflowPlanReport): string {
  if (moves.length === 0) return "Nothing would be gained by moving pods.";
  const first = `${moves.length} of ${pods} pods would move;`;
  return savedRatio !== null && savedRatio > 0
    ? `${first} that saves ${percent(savedRatio)} of what the network costs.`
    : `${first} that relieves loaded nodes.`;
}

function percent(ratio: number): string {
  return ratio < 0.0005 ? "< 0.1 %" : `${(100 * ratio).toFixed(1).replace(/\.0$/, "")} %`;
}

function currentOf({ pods }: FeasiblePlanProblem): Int32Array {
  return Int32Array.from(pods, ({ current }) => current);
}

/** Pods and nodes that have gone since have no part in it. */
function assignmentOf({ pods, nodes }: FeasiblePlanProblem, previous: PreviousMoves): Int32Array {
  const indexOf = new Map(nodes.map(({ name }, node) => [name, node]));
  return Int32Array.from(pods, ({ name, current }) => indexOf.get(previous.get(name) ?? "") ?? current);
}

interface MovablePod {
  readonly object: ApiObject;
  readonly workload: string;
}

/**
 * The pods of the workflow that run, as the graph shows them; far ends of its channels in other namespaces
 * are not its to place.
 */
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

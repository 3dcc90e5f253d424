import type { MoveRules } from "../../descheduler/deschedule-input.ts";
import { costModel, objectiveOf, type CostModel } from "../../planner/objective/objective.ts";
import { ENDED_WORDS } from "../../planner/search/search.ts";
import { FALLBACK_WORDS } from "../../planner/objective/money.ts";
import {
  DEFAULT_PLAN_SETTINGS,
  planSettings,
  type PlanSettings,
} from "../../planner/objective/plan-settings.ts";
import { trafficCosts } from "../../planner/objective/traffic-costs.ts";
import { DEFAULT_SPREAD } from "../objects/spread-limits.ts";
import type { FeasiblePlanProblem } from "./plan-input.ts";
import { gainNow, StepBuilder, type PlanStep, type PlanSteps } from "./plan-steps.ts";
import type {
  CostSettings,
  FoundPlan,
  FoundPlans,
  PlannedMove,
  PreviousMoves,
  RunningWorkflow,
  WorkflowPlanReport,
} from "./plan-report.ts";

/** Defaults of the descheduler's settings. */
const DEFAULT_LEAST_GAIN = { minGain: 1_000, minGainRatio: 0.1, minWorkflowGainRatio: 0.005 };

/** Search settings in which a move costs its minimum gain, so that plans have few moves. */
export function searchSettings(problem: FeasiblePlanProblem, cost: CostSettings): PlanSettings {
  const { minGain, minWorkflowGainRatio } = { ...DEFAULT_LEAST_GAIN, ...cost };
  const settings = costOf(cost);
  const model = costModel(problem, planSettings(settings));
  const { network } = objectiveOf(model).total(currentOf(problem));
  const least = model.traffic.source === "measured" ? minGain : 0;
  return { ...settings, moveCost: Math.max(least, minWorkflowGainRatio * network) };
}

function costOf({
  bytesPerRequest,
  maxCpuUse,
  maxLatencyLoss,
  moneyShare,
}: CostSettings): Omit<PlanSettings, "moveCost"> {
  const { pressureShare, ...given } = { ...DEFAULT_PLAN_SETTINGS };
  return {
    bytesPerRequest: bytesPerRequest ?? given.bytesPerRequest,
    maxCpuUse: maxCpuUse ?? given.maxCpuUse,
    maxLatencyLoss: maxLatencyLoss ?? given.maxLatencyLoss,
    moneyShare: moneyShare ?? given.moneyShare,
    pressureShare,
  };
}

export class WorkflowSteps {
  readonly #running: RunningWorkflow;
  readonly #builder: StepBuilder;
  readonly #model: CostModel;

  constructor(running: RunningWorkflow, cost: CostSettings) {
    this.#running = running;
    const { problem, blocked } = running;
    const settings = costOf(cost);
    this.#model = costModel(problem, planSettings(settings));
    const { minNodes, minZones } = { ...DEFAULT_SPREAD, ...cost };
    const unlimited = {
      rounds: 1,
      intervalMs: Infinity,
      maxEvictions: Infinity,
      maxEvictionsPerNode: Infinity,
      maxEvictionsPerNamespace: Infinity,
      maxEvictionsPerHour: Infinity,
      maxGroup: MAX_GROUP,
      maxUnreadyRatio: 1,
    };
    const rules: MoveRules = {
      ...DEFAULT_LEAST_GAIN,
      ...cost,
      ...settings,
      ...unlimited,
      minNodes,
      minZones,
    };
    this.#builder = new StepBuilder({ problem, model: this.#model, rules, blocked });
  }

  /** Prefers single moves if they do as well as the searches' plans. */
  fresh({ open, blocked }: FoundPlans): PlanSteps {
    const { problem } = this.#running;
    const { current } = this.#builder;
    const targetOf = (found: FoundPlan | null): Int32Array | null =>
      found === null || !found.complete ? null : stayingPut(problem, current, found.assignment);
    const found = this.#builder.towards({ open: targetOf(open), all: targetOf(blocked) });
    const greedy = this.#builder.greedy();
    return greedy !== null && !this.isClearlyBetter(found, greedy) ? greedy : found;
  }

  /** Drops moves of missing pods and to missing nodes. */
  again(previous: PreviousMoves): PlanSteps {
    const { pods, nodes } = this.#running.problem;
    const podOf = new Map(pods.map(({ name }, pod) => [name, pod]));
    const nodeOf = new Map(nodes.map(({ name }, node) => [name, node]));
    const steps = previous.map((moves) =>
      moves.flatMap(({ pod: name, to }) => {
        const [pod, node] = [podOf.get(name), nodeOf.get(to)];
        return pod === undefined || node === undefined ? [] : [{ pod, node }];
      }),
    );
    return this.#builder.again(steps);
  }

  isClearlyBetter(a: PlanSteps, b: PlanSteps): boolean {
    return this.#builder.isClearlyBetter(a, b);
  }

  namesOf({ moves }: PlanStep): PreviousMoves[number] {
    const { pods, nodes } = this.#running.problem;
    return moves.map(({ pod, node }) => ({ pod: pods[pod]!.name, to: nodes[node]!.name }));
  }

  report(shown: PlanSteps, { open: found }: FoundPlans): WorkflowPlanReport {
    const { problem, kept } = this.#running;
    const { current } = this.#builder;
    const model = this.#model;
    const objective = objectiveOf(model);
    const { bytesPerRequest } = model.settings;
    const [today, best] = [current, shown.target].map((assignment) => ({
      ...objective.total(assignment),
      ...trafficCosts(problem, assignment, bytesPerRequest),
    }));
    const gain = gainNow(shown);
    const gainError = errorNow(shown);
    const { bytesPerSecond } = (model.latency ?? model).traffic;
    const perRequest =
      bytesPerSecond > 0 && model.field.known
        ? {
            todayMs: today!.latency / bytesPerSecond,
            bestMs: best!.latency / bytesPerSecond,
            errorMs: gainError / bytesPerSecond,
          }
        : null;
    return {
      workflow: `${problem.workflow.namespace}/${problem.workflow.name}`,
      pods: problem.pods.length + kept.length,
      today: today!,
      best: best!,
      currency: problem.prices?.currency ?? null,
      savedRatio: today!.network > 0 ? Math.max(0, 1 - best!.network / today!.network) : null,
      gain,
      gainError,
      perRequest,
      moves: shown.steps.flatMap((step, index) => this.#plannedMoves(step, index + 1)),
      kept,
      notes: notesOf(problem, found),
    };
  }

  #plannedMoves({ moves, gain, error, obstacle }: PlanStep, step: number): PlannedMove[] {
    const { pods, nodes } = this.#running.problem;
    return moves.map(({ pod, node }) => {
      const { name, workload, current } = pods[pod]!;
      const [from, to] = [nodes[current]!.name, nodes[node]!.name];
      return { pod: name, workload: workload ?? "", from, to, step, gain, gainError: error, obstacle };
    });
  }
}

const MAX_GROUP = 3;

/** Adds errors linearly: steps share links and rates, so errors may correlate. */
function errorNow({ steps }: PlanSteps): number {
  return steps.reduce((sum, { error, obstacle }) => (obstacle === null ? sum + error : sum), 0);
}

function notesOf(problem: FeasiblePlanProblem, found: FoundPlan): string[] {
  const notes = [...problem.notes];
  notes.push(found.complete ? ENDED_WORDS[found.ended] : "no plan has room for all pods");
  if (found.fallback !== null) notes.push(`latency decided, not money: ${FALLBACK_WORDS[found.fallback]}`);
  if (found.traffic === "declared")
    notes.push("no rate is known, only declared priorities: they move no pod");
  if (found.traffic === "none") notes.push("nothing is known of what its pods say to each other");
  if (!found.networkKnown) notes.push("no network cost is known");
  return notes;
}

function currentOf({ pods }: FeasiblePlanProblem): Int32Array {
  return Int32Array.from(pods, ({ current }) => current);
}

/** Replicas can exchange nodes, so one whose node is in the plan stays there. */
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

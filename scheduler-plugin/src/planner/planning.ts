// Turns a workflow's gated pods into nodes: combines graphs and cluster, searches, and explains.
import { LABELS } from "@isochrone/kubernetes";
import { inQueueOrder, planProblem, quickEffort } from "@isochrone/placement";
import type { AssumedPod, FeasiblePlanProblem, QueueStep } from "@isochrone/placement";
import type { Clock } from "@isochrone/runtime";
import type { ClusterGraphSnapshot } from "@isochrone/topology";
import type { ZoneWishes } from "../dispatch/replicas/zone-wishes.ts";
import type { Ledger } from "../domain/ledger.ts";
import type { GraphSource } from "../ports/ports.ts";
import type { MoveRecords } from "./adapters/move-records.ts";
import type { PlanLimits } from "./adapters/plan-messages.ts";
import type { PlanSearch } from "./adapters/plan-search.ts";
import type { ReleaseOrders } from "./adapters/release-orders.ts";
import type { ClusterModel } from "./cluster-model.ts";
import { workloadOf } from "./gated-workflows.ts";
import type { GatedPod, GatedWorkflow, SettlingWorkflow } from "./gated-workflows.ts";
import { usableGraphs } from "./graphs.ts";
import type { UsableGraphs } from "./graphs.ts";
import { byLevel } from "./domain/release-levels.ts";
import type { Releasable } from "./domain/release-levels.ts";
import type { SearchResult } from "./domain/search.ts";
import type { PlannerMetrics, ReleaseReason } from "./metrics.ts";
import { movesInto, targetsOf } from "./moves.ts";
import type { Moves } from "./moves.ts";
import { candidatesOf, planSentences, podSentences, rememberedSentences } from "./plan-words.ts";
import type { PlannerReports, ReportedPod } from "./reports.ts";
import type { PlannerConfig } from "./settings.ts";
import { costOf } from "./objective.ts";
import { spreadLimits } from "./spread.ts";
import type { JointPlans } from "./promises/joint-plans.ts";
import { wishedZones, wishesInto } from "./wished-zones.ts";
import { assumedToBe, pressureShareOf, withoutGoing } from "./workflow-to-be.ts";

interface Unplanned {
  readonly pods: readonly GatedPod[];
  readonly reason: ReleaseReason;
  readonly text: string;
}

/** A planned pod before alternatives are checked. */
export interface PlacedByPlan {
  readonly pod: GatedPod;
  readonly node: string;
  readonly others: readonly string[];
  readonly workflow: string;
  readonly decision: string;
}

export type PlanningResult =
  | { readonly kind: "wait" }
  | {
      readonly kind: "planned";
      /** In release order, one level at a time. */
      readonly levels: readonly (readonly PlacedByPlan[])[];
      readonly unplanned: readonly Unplanned[];
    };

interface PlanningTime {
  readonly mayWait: boolean;
  /** Waiting pods of other workflows; they shorten the search. */
  readonly othersWaiting: number;
}

interface WorkflowPlanningOptions {
  readonly config: PlannerConfig;
  readonly bytesPerRequest: number;
  readonly graphs: GraphSource;
  readonly model: ClusterModel;
  readonly search: PlanSearch;
  readonly moves: MoveRecords;
  /** True if the descheduler moves or may move a pod of that controller. */
  readonly isMoving: (controllerUid: string) => boolean;
  readonly orders: ReleaseOrders;
  readonly ledger: Ledger;
  readonly wishes: Pick<ZoneWishes, "zoneFor" | "take">;
  readonly joint: Pick<JointPlans, "ahead">;
  readonly reports: PlannerReports;
  readonly metrics: PlannerMetrics;
  readonly clock: Clock;
}

interface Task {
  readonly pods: readonly GatedPod[];
  readonly graphs: UsableGraphs;
  readonly budgetMs: number;
}

/** Enough for a greedy plan. kube-scheduler binds some 300 pods/s, and must not wait for better plans. */
const LEAST_BUDGET_MS = 5;
const LEAST_MS_PER_POD = 0.5;
/** An early search ends this long before its workflow's turn, so as not to delay it. */
const EARLY_MARGIN_MS = 20;

interface Searched {
  readonly problem: FeasiblePlanProblem;
  readonly result: SearchResult;
}

interface PlacedPod {
  readonly pod: GatedPod;
  readonly index: number;
  readonly node: string;
  /** Must be bound before later pods are nominated, because a nomination counts as an existing pod. */
  readonly isFirst: boolean;
}

export class WorkflowPlanning {
  readonly #options: WorkflowPlanningOptions;

  constructor(options: WorkflowPlanningOptions) {
    this.#options = options;
  }

  trouble(): string | null {
    const found = usableGraphs(this.#options.graphs, null, this.#options.clock.now());
    return "reason" in found && found.reason !== "unknown_workflow" ? found.text : null;
  }

  /** Ends the running search with the best plan so far if others wait and its time is up. */
  hurry(workflow: GatedWorkflow, sinceMs: number, othersWaiting: number): void {
    const { config, clock, search } = this.#options;
    const pods = Math.min(workflow.pods.length, config.maxPods);
    if (clock.monotonic() - sinceMs >= budgetOf(config.planMs, pods, othersWaiting)) search.hurry();
  }

  async plan(workflow: GatedWorkflow, { mayWait, othersWaiting }: PlanningTime): Promise<PlanningResult> {
    const { graphs, clock, config, model } = this.#options;
    const found = usableGraphs(graphs, workflow, clock.now());
    if ("reason" in found) {
      if (mayWait && found.mayCome) return { kind: "wait" };
      return nonePlanned([{ pods: workflow.pods, reason: found.reason, text: found.text }]);
    }
    const unplanned: Unplanned[] = [];
    const pods = this.#supported(workflow, unplanned);
    if (pods.length === 0) return nonePlanned(unplanned);
    const budgetMs = budgetOf(config.planMs, pods.length, othersWaiting);
    const toBe = withoutGoing(found, model);
    return await this.#planSupported(workflow, { pods, budgetMs, graphs: toBe }, unplanned);
  }

  /** Searches while more pods may come; the turn starts from the result. Rejects as `plan` does. */
  async searchEarly(workflow: SettlingWorkflow, othersWaiting: number): Promise<void> {
    const { graphs, clock, model, search } = this.#options;
    const found = usableGraphs(graphs, workflow, clock.now());
    const pods = this.#supported(workflow, []);
    if ("reason" in found || pods.length < 2) return;
    const problem = this.#problem(workflow, pods, withoutGoing(found, model), []);
    const restMs = workflow.dueMs - EARLY_MARGIN_MS - clock.monotonic();
    const budgetMs = (restMs * pods.length) / (pods.length + othersWaiting);
    if (budgetMs < LEAST_BUDGET_MS) return;
    await search.runEarly(problem, this.#snapshotOf(problem), this.#limits(problem, budgetMs));
  }

  endEarly(): void {
    this.#options.search.hurry();
  }

  /** Pods that the scheduling model supports, in kube-scheduler's order. */
  #supported(workflow: GatedWorkflow, unplanned: Unplanned[]): GatedPod[] {
    const { config, model } = this.#options;
    const supported: GatedPod[] = [];
    for (const pod of workflow.pods.toSorted(byCreation)) {
      const reasons = model.model.unsupported(pod.object);
      if (reasons.length === 0) supported.push(pod);
      else unplanned.push({ pods: [pod], reason: "unsupported", text: reasons.join("; ") });
    }
    return supported.slice(0, config.maxPods);
  }

  async #planSupported(workflow: GatedWorkflow, task: Task, unplanned: Unplanned[]): Promise<PlanningResult> {
    const { pods, graphs } = task;
    const { metrics, moves, isMoving, model, orders, wishes, config } = this.#options;
    const [records, levelOf] = await Promise.all([
      moves.of(pods, (uid) => isMoving(uid) || model.hasPlaced(uid)),
      orders.of(pods, graphs.workflow, config.release),
    ]);
    const targets = targetsOf(pods, records, (pod, node) => model.model.verdict(pod.object, node));
    const zones = wishedZones(pods, targets.redeemed, wishes);
    const { problem, result } = await this.#search(workflow, task, targets, zones);
    moves.end(records);
    if (result.traffic === "none" && targets.redeemed.size + zones.size === 0) {
      const text = "nothing is known of what the workflow's pods say to each other";
      return nonePlanned([...unplanned, { pods, reason: "unknown_workflow", text }]);
    }
    const placed = this.#inOrder(problem, pods, result, unplanned);
    metrics.plans.inc({ outcome: outcomeOf(placed.length, pods.length) });
    metrics.planSeconds.observe(result.durationMs / 1_000);
    if (result.complete && result.cost.total > 0)
      metrics.planGap.observe(Math.max(0, 1 - result.lowerBound / result.cost.total));
    const nodeOf = new Map(placed.map(({ pod, node }) => [pod.key, node]));
    const redeemed = [...targets.redeemed].filter(([key, { to }]) => nodeOf.get(key) === to).length;
    metrics.moves.inc({ outcome: "redeemed" }, redeemed);
    metrics.moves.inc({ outcome: "refused" }, targets.redeemed.size + targets.refused.size - redeemed);
    if (placed.length === 0) return nonePlanned(unplanned);
    const decisions = this.#report(workflow, { problem, result }, graphs, placed, targets);
    const planned = placed.map((each, index) => {
      const others = (result.alternatives[each.index] ?? []).map(({ node }) => problem.nodes[node]!.name);
      return { ...each, others, workflow: workflow.key, decision: decisions[index]! };
    });
    const levels = levelOf === null ? [planned] : byLevel(planned, ({ pod }) => releasable(pod), levelOf);
    return { kind: "planned", levels: levels.flatMap(splitBehindFirst), unplanned };
  }

  /** Applies move targets and wished zones; drops those without room. */
  async #search(
    workflow: GatedWorkflow,
    { pods, graphs, budgetMs }: Task,
    targets: Moves,
    zones: ReadonlyMap<string, string>,
  ): Promise<Searched> {
    const ahead = await this.#options.joint.ahead(workflow.key, graphs);
    const problem = this.#problem(workflow, pods, graphs, ahead.assumed);
    const moved = movesInto(problem, pods, targets);
    const bound = wishesInto(moved, pods, zones);
    const isShort = (of: ReadonlyMap<string, unknown>): boolean =>
      pods.some(({ key }, index) => of.has(key) && result.assignment[index]! < 0);
    let result: SearchResult;
    if (ahead.nodes.size > 0) {
      const free = [...ahead.nodes].filter(([key]) => !targets.redeemed.has(key) && !zones.has(key));
      const joined = movesInto(bound, pods, { redeemed: new Map(free) });
      result = await this.#run(joined, budgetMs);
      if (!pods.some((_, index) => result.assignment[index]! < 0)) return { problem: joined, result };
    }
    result = await this.#run(bound, budgetMs);
    if (isShort(targets.redeemed)) return { problem, result: await this.#run(problem, budgetMs) };
    if (isShort(zones)) return { problem: moved, result: await this.#run(moved, budgetMs) };
    return { problem: bound, result };
  }

  #problem(
    { namespace, name }: GatedWorkflow,
    pods: readonly GatedPod[],
    graphs: UsableGraphs,
    ahead: readonly AssumedPod[],
  ): FeasiblePlanProblem {
    const { model, ledger, config } = this.#options;
    const nameOf = new Map(pods.map((pod) => [pod.object, workloadOf(pod, graphs.workflow)]));
    return planProblem({
      model: model.model,
      pods: pods.map(({ object }) => object),
      cluster: graphs.cluster,
      workflow: graphs.workflow,
      prices: graphs.prices,
      assumed: [...assumedToBe(ledger.assumed(namespace, name), graphs.workflow, model), ...ahead],
      workloadOf: (pod) => nameOf.get(pod as GatedPod["object"]) ?? null,
      spread: spreadLimits(config),
    });
  }

  #run(problem: FeasiblePlanProblem, budgetMs: number): Promise<SearchResult> {
    const limits = { ...this.#limits(problem, budgetMs), effort: quickEffort(problem) };
    return this.#options.search.run(problem, this.#snapshotOf(problem), limits, "due");
  }

  #limits(problem: FeasiblePlanProblem, budgetMs: number): PlanLimits {
    const { config, bytesPerRequest } = this.#options;
    return {
      seed: config.seed,
      budgetMs,
      bytesPerRequest,
      ...costOf(config),
      maxAlternatives: budgetMs < config.planMs ? 2 : 8,
      pressureShare: pressureShareOf(problem, bytesPerRequest),
    };
  }

  #snapshotOf({ cluster }: FeasiblePlanProblem): ClusterGraphSnapshot | null {
    const { graphs } = this.#options;
    return cluster === graphs.cluster() ? (graphs.clusterSnapshot?.() ?? null) : null;
  }

  /** Pods with a node in kube-scheduler's order; drops those that it would reject at their turn. */
  #inOrder(
    problem: FeasiblePlanProblem,
    pods: readonly GatedPod[],
    { assignment, unplaced }: SearchResult,
    unplanned: Unplanned[],
  ): PlacedPod[] {
    const { steps } = inQueueOrder({
      model: this.#options.model.model,
      pods: pods.map(({ object }) => object),
      assignment,
    });
    const leaveOut = (index: number, text: string): void => {
      unplanned.push({ pods: [pods[index]!], reason: "infeasible", text });
    };
    for (const [index] of pods.entries()) {
      if (assignment[index]! >= 0) continue;
      const reason = unplaced.find(({ pod }) => pod === index)?.reason;
      leaveOut(index, reason ?? "no plan has room for it");
    }
    return steps.flatMap(({ pod: index, node, rejection, before }: QueueStep): PlacedPod[] => {
      if (rejection === null)
        return [{ pod: pods[index]!, index, node: problem.nodes[node]!.name, isFirst: before }];
      leaveOut(index, `when its turn comes, ${rejection.message} (${rejection.plugin})`);
      return [];
    });
  }

  #report(
    workflow: GatedWorkflow,
    { problem, result }: Searched,
    graphs: UsableGraphs,
    placed: readonly PlacedPod[],
    targets: Moves,
  ): string[] {
    const { cost, lowerBound, ended, durationMs } = result;
    return this.#options.reports.planned({
      workflow: workflow.key,
      durationMs,
      cost,
      lowerBound: result.complete ? lowerBound : null,
      ended,
      explanation: [...planSentences(workflow, result), ...rememberedSentences(graphs), ...problem.notes],
      inputs: graphs.inputs,
      graph: graphs.workflow,
      cluster: graphs.cluster,
      placed: placed.map(({ pod, index, node }): ReportedPod => {
        const candidates = candidatesOf(problem, result, index, node);
        return {
          pod,
          node,
          workload: problem.pods[index]!.workload,
          candidates,
          sentences: podSentences(node, candidates, targets, pod.key, placed.length),
        };
      }),
    });
  }
}

/**
 * `planMs` for the last one; with others waiting, reduced by the square of its part. So any backlog takes
 * less than twice `planMs` plus the minimum of each plan.
 */
function budgetOf(planMs: number, pods: number, othersWaiting: number): number {
  const part = pods / (pods + othersWaiting);
  const leastMs = Math.max(LEAST_BUDGET_MS, LEAST_MS_PER_POD * pods);
  return Math.min(planMs, Math.max(leastMs, planMs * part * part));
}

function nonePlanned(unplanned: readonly Unplanned[]): PlanningResult {
  return { kind: "planned", levels: [], unplanned };
}

function splitBehindFirst<T extends PlacedPod>(level: readonly T[]): T[][] {
  const parts: T[][] = [[]];
  for (const placed of level) {
    parts.at(-1)!.push(placed);
    if (placed.isFirst) parts.push([]);
  }
  return parts.filter((part) => part.length > 0);
}

/** kube-scheduler takes older pods first. Ties by name, so that plans don't depend on arrival. */
function byCreation(a: GatedPod, b: GatedPod): number {
  const [first = "", second = ""] = [
    a.object.metadata.creationTimestamp,
    b.object.metadata.creationTimestamp,
  ];
  if (first !== second) return first < second ? -1 : 1;
  return a.key < b.key ? -1 : 1;
}

function outcomeOf(placed: number, pods: number): string {
  if (placed === 0) return "infeasible";
  return placed < pods ? "partial" : "planned";
}

function releasable({ identity, object }: GatedPod): Releasable {
  const selector = object.metadata.labels?.[LABELS.appGroupWorkload] ?? null;
  return { workloads: identity.workloads, selector };
}

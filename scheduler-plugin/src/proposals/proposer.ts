// Computes the best placement of running workflows without moving anything, so that people see what theirs
// costs.
import {
  blockedProblem,
  nextShown,
  NOTHING_SHOWN,
  openProblem,
  planVerdict,
  runningWorkflow,
  searchSettings,
  workflowTraffic,
  WorkflowSteps,
} from "@isochrone/placement";
import type { ExclusionRules, ShownPlan, WorkflowPlanReport } from "@isochrone/placement";
import { KINDS } from "@isochrone/kubernetes";
import type { ClusterStore, KindRef, KubernetesObject } from "@isochrone/kubernetes";
import { periodic } from "@isochrone/runtime";
import type { Clock, Logger, Periodic, Random, Service } from "@isochrone/runtime";
import type { WorkflowGraph } from "@isochrone/topology";
import type { Registry } from "prom-client";
import type { ClusterObjects } from "../adapters/cluster-objects.ts";
import type { ClusterPods } from "../adapters/cluster-pods.ts";
import type { LoggedProposal, PlanLog } from "../domain/plan-log.ts";
import { ClusterFollower } from "../descheduler/cluster-follower.ts";
import type { PlanSearch } from "../planner/adapters/plan-search.ts";
import { usableGraphs } from "../planner/graphs.ts";
import type { UsableGraphs } from "../planner/graphs.ts";
import type { GraphSource } from "../ports/ports.ts";
import { clusterView, yielded } from "./cluster-view.ts";
import type { ClusterView } from "./cluster-view.ts";
import type { ProposalsConfig } from "./config.ts";
import { createProposalMetrics, LEFT_OUT_REASONS } from "./metrics.ts";
import type { LeftOutReason, ProposalMetrics } from "./metrics.ts";
import { MoveJudge } from "./move-judge.ts";
import type { GateRules } from "../webhook/gate-rules.ts";

export interface ProposerDeps {
  readonly store: ClusterStore;
  readonly pods: Pick<ClusterPods, "items" | "isSynced">;
  readonly objects: ClusterObjects;
  /** The descheduler's rules: never propose what it wouldn't move. */
  readonly rules: ExclusionRules;
  /** null without a webhook: then no move reaches its target. */
  readonly gateRules: GateRules | null;
  readonly graphs: GraphSource;
  readonly search: Pick<PlanSearch, "runPatiently" | "start">;
  readonly plans: PlanLog;
  /** Whether this replica proposes; else it copies the leader's proposals. */
  readonly leads: () => boolean;
  readonly newId: () => string;
  readonly bytesPerRequest: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
}

const PER_ROUND = 50;
const PART_OF_INTERVAL = 0.1;

type Outcome = LoggedProposal | LeftOutReason | null;

/** Only the leader proposes: several replicas' proposals would differ a little. */
export class Proposer implements Service {
  readonly #config: ProposalsConfig;
  readonly #deps: ProposerDeps;
  readonly #metrics: ProposalMetrics;
  readonly #loop: Periodic;
  readonly #stopped = new AbortController();
  /** Keyed by workflow. A shown proposal stays unless it changes by more than its error. */
  readonly #shown = new Map<string, ShownPlan>();
  #follower: ClusterFollower | null = null;

  constructor(config: ProposalsConfig, deps: ProposerDeps) {
    this.#config = config;
    this.#deps = deps;
    const { clock, logger } = deps;
    const metrics = createProposalMetrics(deps.registry);
    this.#metrics = metrics;
    this.#loop = periodic({
      clock,
      intervalMs: config.intervalMs,
      run: () => this.#propose(),
      onError: (error) => {
        if (this.#stopped.signal.aborted) return;
        metrics.rounds.inc({ outcome: "failed" });
        logger.warnOnce("proposals", "plans of running workflows failed", { error });
      },
    });
  }

  start(): Promise<void> {
    this.#follower = new ClusterFollower(this.#deps);
    this.#loop.start();
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#loop.stop();
    await this.#follower?.stop();
  }

  async #propose(): Promise<void> {
    const { pods, graphs, plans, search, clock } = this.#deps;
    const { signal } = this.#stopped;
    const follower = this.#follower;
    if (!this.#deps.leads()) {
      this.#metrics.proposals.set(0);
      // A new leader continues with the previous leader's proposals.
      for (const proposal of plans.proposals({ limit: Infinity }))
        this.#shown.set(proposal.workflow, shownBefore(proposal));
      return;
    }
    if (follower === null || !follower.isSynced) return;
    const found = usableGraphs(graphs, null, clock.now());
    if ("reason" in found && found.reason !== "unknown_workflow") {
      this.#metrics.rounds.inc({ outcome: "no_graph" });
      this.#metrics.proposals.set(0);
      return plans.propose([]);
    }
    if (this.#config.isAllInThread === true) await this.#unlessStopped(search.start());
    const beganMs = clock.monotonic();
    const lists = follower.lists();
    const [judge, cluster] = [
      await this.#judge(lists),
      await clusterView(lists, pods.items(), { clock, signal }),
    ];
    const outcomes = cluster === null ? null : await this.#outcomes(cluster, judge);
    if (outcomes === null) return;
    const proposals = outcomes
      .filter((outcome) => typeof outcome === "object")
      .filter((outcome) => outcome !== null);
    plans.propose(proposals);
    this.#tell(outcomes, clock.monotonic() - beganMs);
  }

  async #judge(lists: ReturnType<ClusterFollower["lists"]>): Promise<MoveJudge> {
    const { rules, gateRules: webhook, clock } = this.#deps;
    const [appGroups, disruptionBudgets] = [
      // Without rights or CRD there are none.
      await this.#listed(KINDS.appGroup),
      await this.#listed(KINDS.podDisruptionBudget),
    ];
    const objects = { ...lists, appGroups, disruptionBudgets };
    return new MoveJudge({ objects, rules, webhook, nowMs: clock.now() });
  }

  async #listed(kind: KindRef): Promise<readonly KubernetesObject[]> {
    try {
      return (await this.#deps.store.list(kind)).items;
    } catch {
      return [];
    }
  }

  async #outcomes(cluster: ClusterView, judge: MoveJudge): Promise<Outcome[] | null> {
    const { graphs, clock, bytesPerRequest } = this.#deps;
    const { intervalMs, perRound = PER_ROUND, roundMs = intervalMs * PART_OF_INTERVAL } = this.#config;
    const workflows = byTraffic(graphs.workflows?.() ?? [], bytesPerRequest);
    const endMs = clock.monotonic() + roundMs;
    const outcomes: Outcome[] = [];
    const names = new Set(workflows.map(({ namespace, name }) => `${namespace}/${name}`));
    for (const name of this.#shown.keys()) if (!names.has(name)) this.#shown.delete(name);
    for (const workflow of workflows.slice(0, perRound)) {
      const isLate = outcomes.length > 0 && clock.monotonic() >= endMs;
      outcomes.push(isLate ? "no_time" : await this.#outcome(workflow, cluster, judge));
      // Lets scoring requests run after each workflow.
      if (!isLate) await yielded();
      if (this.#stopped.signal.aborted) return null;
    }
    return [...outcomes, ...workflows.slice(perRound).map(() => "too_many" as const)];
  }

  async #outcome(workflow: WorkflowGraph, cluster: ClusterView, judge: MoveJudge): Promise<Outcome> {
    const { graphs, clock, logger } = this.#deps;
    const { maxPairs = Infinity, maxPods = Infinity } = this.#config;
    const usable = usableGraphs(graphs, workflow, clock.now());
    if ("reason" in usable) return usable.reason === "unknown_workflow" ? null : "stale_graph";
    const pods = usable.workflow.workloads.reduce((sum, each) => sum + each.pods.length, 0);
    if (pods > maxPods || pods * cluster.model.nodes.length > maxPairs) return "too_large";
    try {
      return await this.#proposal(usable, cluster, judge);
    } catch (error) {
      if (!this.#stopped.signal.aborted)
        logger.warnOnce("proposal", "the best plan of a running workflow was not found", {
          workflow: `${workflow.namespace}/${workflow.name}`,
          error,
        });
      return "error";
    }
  }

  async #proposal(
    graphs: UsableGraphs,
    { model, pods }: ClusterView,
    judge: MoveJudge,
  ): Promise<LoggedProposal | null> {
    const { clock, newId, search, bytesPerRequest } = this.#deps;
    const { planMs: budgetMs, seed, spread, maxCpuUse, objective, leastGain } = this.#config;
    const running = runningWorkflow({
      model,
      podOf: (key) => pods.get(key),
      cluster: graphs.cluster,
      workflow: graphs.workflow,
      prices: graphs.prices,
      obstacleOf: (pod) =>
        judge.obstacleOf(pods.get(`${pod.metadata.namespace ?? "default"}/${pod.metadata.name}`)!),
      ...(spread === undefined ? {} : { spread }),
    });
    if (running === null) return null;
    const snapshot = this.#deps.graphs.clusterSnapshot?.() ?? null;
    const use = maxCpuUse === undefined ? {} : { maxCpuUse };
    const cost = { bytesPerRequest, ...spread, ...leastGain, ...objective, ...use };
    const options = { seed, budgetMs, ...searchSettings(running.problem, cost), maxAlternatives: 0 };
    const open = await this.#unlessStopped(search.runPatiently(openProblem(running), snapshot, options));
    const beyond = blockedProblem(running, open);
    const blocked = beyond && (await this.#unlessStopped(search.runPatiently(beyond, snapshot, options)));
    const { namespace, name } = graphs.workflow;
    const key = `${namespace}/${name}`;
    const steps = new WorkflowSteps(running, cost);
    const found = { open, blocked };
    const { shown, memory } = nextShown(steps, this.#shown.get(key) ?? NOTHING_SHOWN, {
      found,
      nowMs: clock.monotonic(),
      windowMs: graphs.cluster.windowSeconds * 1_000,
    });
    this.#shown.set(key, memory);
    const report = steps.report(shown, found);
    const { today, best, savedRatio, gain, gainError, perRequest } = report;
    return {
      id: newId(),
      at: new Date(clock.now()).toISOString(),
      workflow: report.workflow,
      durationMs: open.durationMs + (blocked?.durationMs ?? 0),
      today,
      cost: best,
      savedRatio,
      gain,
      gainError,
      perRequest,
      lowerBound: null,
      ended: open.ended,
      pods: report.moves.map(({ pod, to, ...move }) => {
        return { ...move, name: pod, node: to, reason: null, decision: null };
      }),
      explanation: sentencesOf(report),
    };
  }

  /** A search may wait long for the thread; stopping doesn't. */
  async #unlessStopped<T>(search: Promise<T>): Promise<T> {
    const { signal } = this.#stopped;
    const stopped = Promise.withResolvers<never>();
    const onStop = (): void => stopped.reject(new Error("stopped"));
    signal.addEventListener("abort", onStop, { once: true });
    try {
      return await Promise.race([search, stopped.promise]);
    } finally {
      signal.removeEventListener("abort", onStop);
    }
  }

  #tell(outcomes: readonly Outcome[], durationMs: number): void {
    const { rounds, roundSeconds, proposals, leftOut } = this.#metrics;
    rounds.inc({ outcome: "done" });
    roundSeconds.observe(durationMs / 1_000);
    const countOf = (reason: LeftOutReason): number => outcomes.filter((each) => each === reason).length;
    const counts = LEFT_OUT_REASONS.map((reason) => [reason, countOf(reason)] as const);
    for (const [reason, count] of counts) leftOut.set({ reason }, count);
    const left = counts.filter(([, count]) => count > 0);
    proposals.set(outcomes.filter((each) => each !== null && typeof each === "object").length);
    if (left.length > 0)
      this.#deps.logger.warnOnce(
        "left out",
        "workflows have no proposal: see isochrone_proposals_left_out",
        Object.fromEntries(left),
      );
  }
}

/** Most traffic first, ties by name, so that replicas choose alike. */
function byTraffic(workflows: Iterable<WorkflowGraph>, bytesPerRequest: number): WorkflowGraph[] {
  return Array.from(workflows, (workflow) => {
    const name = `${workflow.namespace}/${workflow.name}`;
    return { workflow, name, traffic: workflowTraffic(workflow, bytesPerRequest) };
  })
    .sort((a, b) => b.traffic - a.traffic || (a.name < b.name ? -1 : 1))
    .map(({ workflow }) => workflow);
}

function shownBefore({ pods }: LoggedProposal): ShownPlan {
  const steps = new Map<number, { pod: string; to: string }[]>();
  for (const { name: pod, node: to, step, obstacle } of pods)
    if (obstacle === null) steps.set(step, [...(steps.get(step) ?? []), { pod, to }]);
  return { steps: [...steps.values()].map((moves) => ({ moves, weak: null })), challenger: null };
}

function sentencesOf(report: WorkflowPlanReport): string[] {
  const { moves, kept, notes } = report;
  return [
    planVerdict(report),
    ...moves.flatMap(({ pod, to, obstacle }) =>
      obstacle === null ? [] : [`${pod} can't go to ${to} now: ${obstacle}.`],
    ),
    ...kept.map(({ pod, reason }) => `${pod} stays: ${reason}.`),
    ...notes,
  ];
}

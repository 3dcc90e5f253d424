// What would be best for workflows that run, worked out again and again and moved by nobody: so that people see what their placement costs.
import { SchedulingModel, workflowPlan } from "@isochrone/placement";
import type { WorkflowPlanReport } from "@isochrone/placement";
import { periodic } from "@isochrone/runtime";
import type { Clock, Logger, Periodic, Service } from "@isochrone/runtime";
import type { WorkflowGraph } from "@isochrone/topology";
import type { ClusterObjects, FollowedObjects } from "../adapters/cluster-objects.ts";
import type { ClusterPods } from "../adapters/cluster-pods.ts";
import type { LoggedProposal, PlanLog } from "../domain/plan-log.ts";
import type { GraphSource } from "../ports.ts";

/** How often, and with how much time. */
export interface ProposalsConfig {
  readonly intervalMs: number;
  /** For the search of each workflow, on the event loop: to be short. */
  readonly planMs: number;
  /** Larger workflows, in pairs of a pod and a node, are left out. */
  readonly maxPairs: number;
  readonly seed: number;
}

export interface ProposerDeps {
  /** Followed already, with all that decides where they may run. */
  readonly pods: Pick<ClusterPods, "items" | "isSynced">;
  readonly objects: Pick<ClusterObjects, "follow">;
  readonly graphs: GraphSource;
  readonly plans: PlanLog;
  readonly newId: () => string;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class Proposer implements Service {
  readonly #config: ProposalsConfig;
  readonly #deps: ProposerDeps;
  readonly #loop: Periodic;
  #objects: FollowedObjects | null = null;

  constructor(config: ProposalsConfig, deps: ProposerDeps) {
    this.#config = config;
    this.#deps = deps;
    const { clock, logger } = deps;
    this.#loop = periodic({
      clock,
      intervalMs: config.intervalMs,
      run: (signal) => this.#propose(signal),
      onError: (error) => logger.warnOnce("proposals", "plans of running workflows failed", { error }),
    });
  }

  start(): Promise<void> {
    this.#objects = this.#deps.objects.follow(() => undefined);
    this.#loop.start();
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
    await this.#objects?.stop();
  }

  async #propose(signal: AbortSignal): Promise<void> {
    const { pods, graphs, plans } = this.#deps;
    const objects = this.#objects;
    if (objects === null || !objects.isSynced || !pods.isSynced) return;
    const items = pods.items();
    const model = SchedulingModel.of({ ...objects.lists(), pods: items });
    const found: LoggedProposal[] = [];
    for (const workflow of graphs.workflows?.() ?? []) {
      const proposal = this.#proposalOf(workflow, { model, pods: items });
      if (proposal !== null) found.push(proposal);
      // Whoever asks for scores meanwhile waits for one search at most.
      await new Promise<void>((resolve) => setImmediate(resolve));
      if (signal.aborted) return;
    }
    plans.propose(found);
  }

  #proposalOf(
    workflow: WorkflowGraph,
    cluster: { readonly model: SchedulingModel; readonly pods: ReturnType<ClusterPods["items"]> },
  ): LoggedProposal | null {
    const { graphs, clock, newId } = this.#deps;
    const { planMs: budgetMs, maxPairs, seed } = this.#config;
    const graph = graphs.cluster();
    if (graph === null) return null;
    const pods = workflow.workloads.reduce((sum, each) => sum + each.pods.length, 0);
    if (pods * graph.nodes.length > maxPairs) return null;
    const beganMs = clock.monotonic();
    const now = (): number => clock.monotonic();
    const report = workflowPlan({ ...cluster, cluster: graph, workflow, seed, budgetMs, now });
    if (report === null) return null;
    return {
      id: newId(),
      at: new Date(clock.now()).toISOString(),
      workflow: report.workflow,
      durationMs: clock.monotonic() - beganMs,
      today: report.today,
      cost: report.best,
      lowerBound: null,
      pods: report.moves.map(({ pod: name, workload, from, to: node }) => {
        return { name, workload, from, node, reason: null, decision: null };
      }),
      explanation: sentencesOf(report),
    };
  }
}

function sentencesOf({ pods, today, best, moves, kept, notes }: WorkflowPlanReport): string[] {
  const saved = today.total > 0 ? (100 * (today.total - best.total)) / today.total : 0;
  return [
    moves.length === 0
      ? "Nothing would be gained by moving pods."
      : `${moves.length} of ${pods} pods would move; that saves ${saved.toFixed(0)} % of what the network and the load of the nodes cost together.`,
    ...kept.map(({ pod, reason }) => `${pod} stays: ${reason}.`),
    ...notes,
  ];
}

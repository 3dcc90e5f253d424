// While this replica leads, writes deletion costs to pods of ReplicaSets, so that a scale-down deletes the
// pod whose loss costs least.
import { podLosses, type PlanSettings } from "@isochrone/placement";
import { keyOf, type ClusterStore, type KubernetesObject } from "@isochrone/kubernetes";
import { looseFields, looseList, parseMillicores } from "@isochrone/primitives";
import { periodic, type Clock, type Logger, type Periodic } from "@isochrone/runtime";
import type { WorkflowGraph } from "@isochrone/topology";
import type { ClusterPods } from "../adapters/cluster-pods.ts";
import { isGone } from "../adapters/observed-pod.ts";
import { usableGraphs, type UsableGraphs } from "../planner/graphs.ts";
import type { GraphSource } from "../ports/ports.ts";
import { yielded } from "../proposals/cluster-view.ts";
import { newCosts } from "./domain/costs.ts";
import { hasOwnCost, ownCost, writeCost } from "./own-costs.ts";

export interface CostKeeperOptions {
  readonly store: ClusterStore;
  /** Already started; keeps the cost annotations. */
  readonly pods: Pick<ClusterPods, "items" | "isSynced">;
  readonly graphs: GraphSource;
  readonly mode: "remove" | "write";
  readonly settings: Partial<PlanSettings>;
  readonly roundMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Limit per round: API server load matters more than an exact order. */
const MOST_WRITES = 100;
/** Larger workloads are skipped: work grows with the square, and one pod of so many matters little. */
const MOST_PODS = 200;

export class CostKeeper {
  readonly #options: CostKeeperOptions;
  readonly #rounds: Periodic;
  #left = 0;

  constructor(options: CostKeeperOptions) {
    this.#options = options;
    const { clock, logger, roundMs } = options;
    this.#rounds = periodic({
      clock,
      intervalMs: roundMs,
      immediate: true,
      run: (signal) => this.#round(signal),
      onError: (error) => logger.warnOnce("deletion-costs", "deletion costs can't be written", { error }),
    });
    this.#rounds.start();
  }

  stop(): Promise<void> {
    return this.#rounds.stop();
  }

  async #round(signal: AbortSignal): Promise<void> {
    const { pods, mode, logger } = this.#options;
    if (!pods.isSynced) return;
    this.#left = MOST_WRITES;
    if (mode === "remove") await this.#takeBack(pods.items().filter(hasOwnCost), signal);
    else await this.#rankAll(signal);
    const written = MOST_WRITES - this.#left;
    if (written > 0) logger.info("deletion costs of pods changed", { written });
  }

  async #takeBack(marked: readonly KubernetesObject[], signal: AbortSignal): Promise<void> {
    for (const pod of marked) if (!signal.aborted) await this.#write(pod, 0);
  }

  async #rankAll(signal: AbortSignal): Promise<void> {
    const { graphs, clock } = this.#options;
    const byKey = new Map(this.#options.pods.items().map((pod) => [keyOf(pod), pod]));
    for (const workflow of graphs.workflows?.() ?? []) {
      const usable = usableGraphs(graphs, workflow, clock.now());
      // Unusable graph: leave the costs as they are.
      if ("reason" in usable) continue;
      for (const { name, namespace } of usable.workflow.workloads) {
        if (signal.aborted || this.#left <= 0) return;
        if (namespace !== workflow.namespace) continue;
        await this.#rank(usable, name, byKey, signal);
      }
    }
  }

  async #rank(
    { cluster, workflow, prices }: UsableGraphs,
    workload: string,
    byKey: ReadonlyMap<string, KubernetesObject>,
    signal: AbortSignal,
  ): Promise<void> {
    const running = runningPods(workflow, workload, byKey);
    const sets = [...Map.groupBy(running, replicaSetOf)].filter(
      ([uid, own]) => uid !== null && own.length > 1,
    );
    if (sets.length === 0 || running.length > MOST_PODS) return;
    const { settings } = this.#options;
    const losses = new Map<string, number>();
    const asked = { cluster, workflow, workload, replicaCpu: cpuOf(running[0]!), prices, settings };
    for (const [name, loss] of podLosses(asked)) {
      losses.set(name, loss);
      // Lets scoring requests run after each pod.
      await yielded();
      if (signal.aborted) return;
    }
    for (const [, pods] of sets) {
      const costs = pods.map(ownCost);
      // If someone else ranks one pod, leave all to them.
      const wanted = costs.includes(null)
        ? pods.map(() => 0)
        : newCosts(
            pods.map((pod, at) => ({ loss: losses.get(pod.metadata.name) ?? Infinity, cost: costs[at]! })),
          );
      if (wanted !== null) await this.#writeAll(pods, wanted);
    }
  }

  /** Writes the pods to be deleted first, first: one round may not reach all. */
  async #writeAll(pods: readonly KubernetesObject[], wanted: readonly number[]): Promise<void> {
    const changes = pods
      .map((pod, at) => ({ pod, cost: wanted[at]! }))
      .filter(({ pod, cost }) =>
        ownCost(pod) === null ? hasOwnCost(pod) && cost === 0 : ownCost(pod) !== cost,
      )
      .sort((a, b) => a.cost - b.cost);
    for (const { pod, cost } of changes) await this.#write(pod, cost);
  }

  async #write(pod: KubernetesObject, cost: number): Promise<void> {
    if (this.#left <= 0) return;
    this.#left--;
    await writeCost(this.#options.store, pod, cost);
  }
}

function runningPods(
  workflow: WorkflowGraph,
  workload: string,
  byKey: ReadonlyMap<string, KubernetesObject>,
): KubernetesObject[] {
  return [...workflow.replicas(workload)].flatMap(([name, node]) => {
    const pod = node === null ? undefined : byKey.get(`${workflow.namespace}/${name}`);
    return pod === undefined || isGone(pod) ? [] : [pod];
  });
}

function replicaSetOf({ metadata: { ownerReferences = [] } }: KubernetesObject): string | null {
  return (
    ownerReferences.find(({ kind, controller }) => kind === "ReplicaSet" && controller === true)?.uid ?? null
  );
}

/** CPU limit, else request, summed over containers, millicores; null if unknown. */
function cpuOf({ spec }: KubernetesObject): number | null {
  const containers = looseList<Record<"resources", unknown>>(
    looseFields<Record<"containers", unknown>>(spec).containers,
  );
  for (const kind of ["limits", "requests"] as const) {
    const amounts = containers.map(({ resources }) =>
      parseMillicores(
        looseFields<Record<"cpu", unknown>>(looseFields<Record<typeof kind, unknown>>(resources)[kind]).cpu,
      ),
    );
    const sum = amounts.reduce<number>((all, amount) => all + (amount ?? 0), 0);
    if (sum > 0 && (kind === "requests" || !amounts.includes(null))) return sum;
  }
  return null;
}

// Computes savings on request from graphs, the aggregator's prices and proposals.
import { reasonOf } from "@isochrone/primitives";
import { workflowTraffic } from "@isochrone/placement";
import {
  listedPrices,
  MONTH_SECONDS,
  savingsInSteps,
  type PriceTable,
  type ProposedMove,
} from "@isochrone/prices";
import type { Clock } from "@isochrone/runtime";
import type { ClusterGraph, Demand, PriceList, Savings, WorkflowGraph } from "@isochrone/topology";
import type { ClusterPods } from "../adapters/cluster-pods.ts";
import type { PlanLog } from "../domain/plan-log.ts";
import type { GraphSource } from "../ports/ports.ts";
import { yielded } from "../proposals/cluster-view.ts";
import { commandsOf } from "./commands.ts";
import { judgeOf } from "./judge.ts";

export interface SavingsDeps {
  readonly graphs: GraphSource;
  readonly readDemand: () => Promise<Demand>;
  readonly readPrices: () => Promise<PriceList>;
  readonly pods: Pick<ClusterPods, "get" | "isSynced">;
  readonly plans: PlanLog;
  readonly noProposals: string | null;
  readonly maxCpuUse: number;
  readonly bytesPerRequest: number;
  readonly keptMs: number;
  readonly clock: Clock;
}

const MAX_WORKFLOWS = 50;
const MAX_SERVICES = 50;
const SLICE_MS = 5;

export class SavingsView {
  readonly #deps: SavingsDeps;
  #newest: { readonly atMs: number; readonly savings: Promise<Savings> } | null = null;

  constructor(deps: SavingsDeps) {
    this.#deps = deps;
  }

  read(): Promise<Savings> {
    const { clock, keptMs } = this.#deps;
    const nowMs = clock.monotonic();
    if (this.#newest === null || nowMs - this.#newest.atMs > keptMs)
      this.#newest = { atMs: nowMs, savings: this.#work() };
    return this.#newest.savings;
  }

  async #work(): Promise<Savings> {
    const { graphs, pods } = this.#deps;
    const cluster = graphs.cluster();
    if (cluster === null) return inVain("no graph was read yet");
    if (!pods.isSynced) return inVain("the pods were not listed yet");
    try {
      const [demand, list] = await Promise.all([this.#deps.readDemand(), this.#deps.readPrices()]);
      return await this.#savings(cluster, demand, listedPrices(list));
    } catch (error) {
      return inVain(`prices and demand can't be read: ${reasonOf(error)}`);
    }
  }

  async #savings(cluster: ClusterGraph, demand: Demand, table: PriceTable): Promise<Savings> {
    const { graphs, pods, bytesPerRequest, maxCpuUse, clock } = this.#deps;
    const all = [...(graphs.workflows?.() ?? [])];
    const workflows = byTraffic(all, bytesPerRequest).slice(0, MAX_WORKFLOWS);
    const podOf = pods.get.bind(pods);
    const { version, observedAt, windowSeconds, nodes } = cluster;
    const steps = savingsInSteps({
      graphs: { version, observedAt, windowSeconds, nodes, demand, workflows },
      table,
      roundTripMs: (from, to) => {
        const cost = cluster.cost(from, to);
        return cost.known ? cost.ms : null;
      },
      movesOf: ({ namespace, name }) => this.#movesOf(namespace, name),
      judge: judgeOf({ cluster, workflows, podOf, maxCpuUse, bytesPerRequest }),
      commands: commandsOf,
      maxServices: MAX_SERVICES,
    });
    const { lines, leftOut } = await inSlices(steps, clock);
    return {
      observedAt,
      currency: table.currency,
      monthSeconds: MONTH_SECONDS,
      trouble: null,
      lines: [...lines],
      leftOut: leftOut + all.length - workflows.length,
    };
  }

  #movesOf(namespace: string, name: string): readonly ProposedMove[] | string {
    const { plans, noProposals } = this.#deps;
    if (noProposals !== null) return noProposals;
    const workflow = `${namespace}/${name}`;
    const proposal = plans
      .proposals({ namespace, limit: Infinity })
      .find((each) => each.workflow === workflow);
    if (proposal === undefined)
      return "nothing is proposed for its workflow: see isochrone_proposals_left_out";
    return proposal.pods
      .filter(({ obstacle }) => obstacle === null)
      .map(({ name: pod, workload, from, node: to }) => {
        return { namespace, name: pod, workload: workload ?? "", from, to };
      });
  }
}

async function inSlices<T>(steps: Generator<void, T, void>, clock: Clock): Promise<T> {
  let beganMs = clock.monotonic();
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    if (clock.monotonic() - beganMs < SLICE_MS) continue;
    await yielded();
    beganMs = clock.monotonic();
  }
}

function byTraffic(workflows: readonly WorkflowGraph[], bytesPerRequest: number): WorkflowGraph[] {
  const traffic = new Map(workflows.map((each) => [each, workflowTraffic(each, bytesPerRequest)]));
  return workflows.toSorted((a, b) => traffic.get(b)! - traffic.get(a)!);
}

function inVain(trouble: string): Savings {
  const nothing = { observedAt: null, lines: [], leftOut: 0 };
  return { ...nothing, currency: "", monthSeconds: MONTH_SECONDS, trouble };
}

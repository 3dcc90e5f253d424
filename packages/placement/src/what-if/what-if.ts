// Predicts placement, latency and bill after a change. Read-only.
import { naturally } from "@isochrone/primitives";
import { billOf, pairPrices, type PriceTable } from "@isochrone/prices";
import { ClusterGraph, WorkflowGraph, type WorkflowGraphSnapshot } from "@isochrone/topology";
import { keyOf } from "../feasibility/objects/json.ts";
import { workflowPlan, type WorkflowPlanInput } from "../feasibility/planning/workflow-plan.ts";
import { SchedulingModel } from "../feasibility/scheduling-model.ts";
import { planSettings } from "../planner/objective/plan-settings.ts";
import { workflowLatency } from "../scoring/workflow-latency.ts";
import { applyChange } from "./apply-change.ts";
import type { Change, World } from "./change.ts";
import { DefaultPlacing, type Unplaced } from "./default-placing.ts";

export interface WhatIfInput extends Pick<
  WorkflowPlanInput,
  "seed" | "budgetMs" | "now" | "spread" | "cost" | "obstacleOf"
> {
  readonly world: World;
  readonly change: Change;
  readonly prices: PriceTable;
  /** @default `prices` */
  readonly newPrices?: PriceTable;
}

export interface Outcome {
  /** Network cost of all workflows, bytes/s x ms. */
  readonly network: number;
  /** Mean round trip, milliseconds. Null: no traffic. */
  readonly meanRttMs: number | null;
  /** Traffic in bytes/s with an unplaced end or an unknown cost. */
  readonly unknownBytesPerSecond: number;
  /** Monthly cost. Null: nothing has a price. */
  readonly perMonth: number | null;
  readonly unpricedBytesPerSecond: number;
  readonly currency: string;
  readonly podsWithoutNode: number;
}

interface WhatIfMove {
  readonly pod: string;
  /** Current node. Null: new or pending. */
  readonly from: string | null;
  /** Node that the default scheduler chooses. Null: none fits. */
  readonly unplanned: string | null;
  readonly planned: string | null;
  readonly must: boolean;
}

export interface WhatIf {
  readonly today: Outcome;
  /** Only pods that must be placed move, by kube-scheduler's default profile. */
  readonly unplanned: Outcome;
  /** As `unplanned`, followed by the planner's feasible moves. */
  readonly planned: Outcome;
  /** Saving of the planned moves, bytes/s x ms. */
  readonly gain: number;
  readonly gainError: number;
  readonly moves: readonly WhatIfMove[];
  readonly withoutNode: readonly Unplaced[];
  readonly notes: readonly string[];
}

export function whatIf(input: WhatIfInput): WhatIf {
  const { world: before, change, prices, newPrices = prices, cost = {} } = input;
  const { world, homeless, relocated } = applyChange(before, change);
  const { bytesPerRequest } = planSettings(cost);
  const model = SchedulingModel.of(world.objects);
  const nodeOf = (key: string): string | null => model.nodeOf(key)?.name ?? null;
  const placing = new DefaultPlacing(model, world.objects);
  const waiting = placing.place(world.objects.pods.filter((pod) => homeless.has(keyOf(pod))));
  const unplanned = placed(world.workflows, new Set([...homeless, ...relocated]), nodeOf);
  const byDefault = new Map([...homeless, ...relocated].map((key) => [key, nodeOf(key)]));
  const { obstacleOf = () => null } = input;
  const { touched, notes, gain, gainError } = makeMoves(
    {
      ...input,
      prices: newPrices,
      obstacleOf: (pod) => {
        if (relocated.has(keyOf(pod))) return "the change puts it where it is";
        return homeless.has(keyOf(pod)) ? null : obstacleOf(pod);
      },
    },
    { ...world, workflows: unplanned },
    model,
  );
  const withoutNode = placing.place(waiting.map(({ object }) => object));
  const elsewhere = new Set([...homeless, ...relocated, ...touched]);
  const planned = placed(unplanned, elsewhere, nodeOf);
  const today = SchedulingModel.of(before.objects);
  const moves = [...elsewhere].map((pod): WhatIfMove => {
    const from = today.nodeOf(pod)?.name ?? null;
    const must = homeless.has(pod);
    return { pod, from, unplanned: byDefault.get(pod) ?? (must ? null : from), planned: nodeOf(pod), must };
  });
  return {
    today: outcomeOf(before, before.workflows, prices, bytesPerRequest),
    unplanned: outcomeOf(world, unplanned, newPrices, bytesPerRequest),
    planned: outcomeOf(world, planned, newPrices, bytesPerRequest),
    gain,
    gainError,
    moves: moves.sort((a, b) => naturally(a.pod, b.pod)),
    withoutNode: withoutNode.map(({ pod, reason }) => ({ pod, reason })),
    notes,
  };
}

function placed(
  workflows: readonly WorkflowGraphSnapshot[],
  keys: ReadonlySet<string>,
  nodeOf: (key: string) => string | null,
): WorkflowGraphSnapshot[] {
  return workflows.map((workflow) => ({
    ...workflow,
    workloads: workflow.workloads.map((workload) => ({
      ...workload,
      pods: workload.pods.map((pod) => {
        const key = `${workload.namespace}/${pod.name}`;
        return keys.has(key) ? { ...pod, node: nodeOf(key) } : pod;
      }),
    })),
  }));
}

function makeMoves(
  input: WhatIfInput,
  { objects, cluster: snapshot, workflows }: World,
  model: SchedulingModel,
): {
  readonly touched: ReadonlySet<string>;
  readonly notes: readonly string[];
  readonly gain: number;
  readonly gainError: number;
} {
  const { prices, seed, budgetMs, now, spread, cost = {}, obstacleOf } = input;
  let [gain, gainError] = [0, 0];
  const cluster = new ClusterGraph(snapshot);
  const byKey = new Map(objects.pods.map((pod) => [keyOf(pod), pod]));
  const touched = new Set<string>();
  const notes: string[] = [];
  for (const workflow of workflows) {
    const report = workflowPlan({
      model,
      pods: objects.pods,
      cluster,
      workflow: new WorkflowGraph(workflow),
      prices: pairPrices(cluster.nodes, prices),
      seed,
      budgetMs,
      now,
      cost,
      obstacleOf,
      ...(spread === undefined ? {} : { spread }),
    });
    if (report === null) continue;
    gain += report.gain;
    gainError += report.gainError;
    for (const { pod, to, obstacle } of report.moves) {
      const key = `${workflow.namespace}/${pod}`;
      if (obstacle === null) {
        model.place(byKey.get(key)!, to);
        touched.add(key);
      } else notes.push(`${key} can't move to ${to}: ${obstacle}`);
    }
    notes.push(...report.notes.map((note) => `${report.workflow}: ${note}`));
  }
  return { touched, notes, gain, gainError };
}

function outcomeOf(
  { cluster: snapshot, demand }: World,
  workflows: readonly WorkflowGraphSnapshot[],
  prices: PriceTable,
  bytesPerRequest: number,
): Outcome {
  const cluster = new ClusterGraph(snapshot);
  let [bytes, network, unknownBytesPerSecond] = [0, 0, 0];
  for (const workflow of workflows) {
    const latency = workflowLatency(cluster, new WorkflowGraph(workflow), bytesPerRequest);
    bytes += latency.bytesPerSecond;
    network += latency.bytesPerSecond * (latency.ms ?? 0);
    unknownBytesPerSecond += latency.unknownBytesPerSecond;
  }
  const { version, observedAt, windowSeconds, nodes } = snapshot;
  const { total, currency } = billOf(
    { version, observedAt, windowSeconds, nodes, workflows, demand },
    prices,
  );
  const own = workflows.flatMap(({ namespace, workloads }) =>
    workloads.filter((workload) => workload.namespace === namespace),
  );
  return {
    network,
    meanRttMs: bytes > 0 ? network / bytes : null,
    unknownBytesPerSecond,
    perMonth: total.perMonth,
    unpricedBytesPerSecond: total.unpricedBytesPerSecond,
    currency,
    podsWithoutNode: own.flatMap(({ pods }) => pods).filter(({ node }) => node === null).length,
  };
}

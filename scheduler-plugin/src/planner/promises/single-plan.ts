// Places one pod of a running workflow. The rest stays, so the search is quick enough for admission.
import { planProblem } from "@isochrone/placement";
import type { AssumedPod, FeasiblePlanProblem } from "@isochrone/placement";
import type { Clock } from "@isochrone/runtime";
import type { ZoneWishes } from "../../dispatch/replicas/zone-wishes.ts";
import type { Ledger } from "../../domain/ledger.ts";
import type { ClusterModel } from "../cluster-model.ts";
import { searchPlan } from "../domain/search.ts";
import type { SearchResult } from "../domain/search.ts";
import { workloadOf } from "../gated-workflows.ts";
import type { GatedPod } from "../gated-workflows.ts";
import type { UsableGraphs } from "../graphs.ts";
import { candidatesOf, planSentences, podSentences, rememberedSentences } from "../plan-words.ts";
import type { ReportedPod } from "../reports.ts";
import type { PlannerConfig } from "../settings.ts";
import { costOf } from "../objective.ts";
import { spreadLimits } from "../spread.ts";
import { wishesInto } from "../wished-zones.ts";
import { assumedToBe, pressureShareOf } from "../workflow-to-be.ts";

export interface SinglePlanOptions {
  readonly config: PlannerConfig;
  readonly bytesPerRequest: number;
  readonly model: ClusterModel;
  readonly ledger: Ledger;
  readonly wishes: Pick<ZoneWishes, "zoneFor" | "take">;
  readonly clock: Clock;
}

export interface SinglePlan extends ReportedPod {
  readonly others: readonly string[];
  readonly zone: string | null;
}

/** One pod takes a tenth of it in clusters of 1,000 nodes. */
const BUDGET_MS = 10;
const MAX_ALTERNATIVES = 8;
const NO_MOVES = { redeemed: new Map<string, never>(), refused: new Map<string, never>() };

/**
 * Null if no node fits, or nothing distinguishes them.
 * @param ahead future pods on their nodes
 */
export function singlePlan(
  pod: GatedPod,
  graphs: UsableGraphs,
  { config, bytesPerRequest, model, ledger, wishes, clock }: SinglePlanOptions,
  ahead: readonly AssumedPod[] = [],
): SinglePlan | null {
  const { namespace, workflow: name } = pod.identity;
  const workload = workloadOf(pod, graphs.workflow);
  const open = planProblem({
    model: model.model,
    pods: [pod.object],
    cluster: graphs.cluster,
    workflow: graphs.workflow,
    prices: graphs.prices,
    assumed: [...assumedToBe(ledger.assumed(namespace, name), graphs.workflow, model), ...ahead],
    workloadOf: () => workload,
    spread: spreadLimits(config),
  });
  const search = (problem: FeasiblePlanProblem): SearchResult =>
    searchPlan(problem, {
      seed: config.seed,
      ...costOf(config),
      budgetMs: BUDGET_MS,
      bytesPerRequest,
      maxAlternatives: MAX_ALTERNATIVES,
      pressureShare: pressureShareOf(problem, bytesPerRequest),
      now: () => clock.monotonic(),
    });
  const lacking = wishes.zoneFor(pod.object);
  const bound = wishesInto(open, [pod], new Map(lacking === null ? [] : [[pod.key, lacking]]));
  const found = search(bound);
  const [problem, result] =
    found.assignment[0]! < 0 && bound !== open ? [open, search(open)] : [bound, found];
  const zone = problem === open ? null : lacking;
  const index = result.assignment[0] ?? -1;
  if (index < 0 || (result.traffic === "none" && zone === null)) return null;
  const node = problem.nodes[index]!.name;
  const candidates = candidatesOf(problem, result, 0, node);
  const sentences = [
    ...podSentences(node, candidates, NO_MOVES, pod.key, 1),
    ...planSentences({ key: `${namespace}/${name}` }, result),
    ...rememberedSentences(graphs),
    ...problem.notes,
  ];
  const others = (result.alternatives[0] ?? []).map((each) => problem.nodes[each.node]!.name);
  return { pod, workload, node, candidates, sentences, others, zone };
}

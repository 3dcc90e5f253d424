// Explains a plan: its costs in words, and the nodes compared for each pod.
import { ENDED_WORDS, FALLBACK_WORDS, type FeasiblePlanProblem } from "@isochrone/placement";
import type { Decision } from "@isochrone/topology";
import type { SearchResult } from "./domain/search.ts";
import type { GatedWorkflow } from "./gated-workflows.ts";
import type { UsableGraphs } from "./graphs.ts";
import type { Moves } from "./moves.ts";
import { costText } from "./reports.ts";

const TELLING_GAP = 0.5;

export function planSentences(workflow: Pick<GatedWorkflow, "key">, result: SearchResult): string[] {
  const { cost, lowerBound, complete, ended, traffic, networkKnown, lacks } = result;
  const parts = `network ${costText(cost.network)}, load of the nodes ${costText(cost.pressure)}`;
  const sentences = [`The plan of ${workflow.key} costs ${costText(cost.total)} (${parts}).`];
  if (complete && lowerBound > 0) {
    const gap = Math.max(0, cost.total / lowerBound - 1);
    if (ended !== "optimal" && gap <= TELLING_GAP)
      sentences.push(
        `No plan costs less than ${costText(lowerBound)}: it is at most ${(100 * gap).toFixed(1)} % above the best.`,
      );
  }
  if (complete) sentences.push(ENDED_WORDS[ended]);
  sentences.push(...moneySentences(result));
  for (const { workload, before, after } of lacks)
    sentences.push(
      `Zones ask the replicas of ${workload} for ${Math.round(before)} millicores more than they may use; with this plan ${Math.round(after)}.`,
    );
  if (traffic === "declared")
    sentences.push("No rate of its channels is known: declared priorities stood in for them.");
  if (!networkKnown) sentences.push("No network cost is known: the load of the nodes decided.");
  return sentences;
}

function moneySentences({ costs, fallback, latencyLimit }: SearchResult): string[] {
  const sentences: string[] = [];
  if (fallback !== null) sentences.push(`Latency decided, not money: ${FALLBACK_WORDS[fallback]}.`);
  if (costs === null) return sentences;
  const { latency, perMonth, currency, unpricedBytesPerSecond } = costs;
  const money = perMonth === null ? "an unknown sum" : `${perMonth.toFixed(2)} ${currency}`;
  const bound = latencyLimit === null ? "" : `, at most ${costText(latencyLimit)}`;
  sentences.push(`Its traffic costs ${money} a month, by latency ${costText(latency)}${bound}.`);
  if (unpricedBytesPerSecond > 0)
    sentences.push(`${Math.round(unpricedBytesPerSecond)} B/s of it have no price.`);
  return sentences;
}

/** Rates of departed pods come from older windows. */
export function rememberedSentences({ cluster, workflow }: UsableGraphs): string[] {
  const ages = workflow.channels.flatMap(({ origin, ageSeconds }) =>
    origin === "observed" && ageSeconds !== null && ageSeconds > cluster.windowSeconds ? [ageSeconds] : [],
  );
  if (ages.length === 0) return [];
  const minutes = Math.round(Math.max(...ages) / 60);
  return [`Rates of ${ages.length} of its channels are from before its pods went, up to ${minutes} min ago.`];
}

export function podSentences(
  node: string,
  candidates: Decision["candidates"],
  targets: Moves,
  key: string,
  pods: number,
): string[] {
  const sentences = [
    pods === 1 ? `Planned to ${node}.` : `Planned to ${node} together with ${pods - 1} other pods.`,
  ];
  const move = targets.redeemed.get(key);
  if (move !== undefined && move.to === node)
    sentences.push(`It replaces a pod that was moved away from ${move.from}.`);
  const refusal = targets.refused.get(key);
  if (refusal !== undefined) sentences.push(refusal);
  const next = candidates.find(({ name }) => name !== node);
  if (next !== undefined && next.raw !== null)
    sentences.push(
      next.raw > 0
        ? `On ${next.name}, the next best for it alone, the plan would cost ${costText(next.raw)} more.`
        : `${next.name} would be as good for it alone, but it isn't free of the plan's other pods or rules.`,
    );
  return sentences;
}

/** The planned node and alternatives for this pod alone; `raw`: added cost of the plan. */
export function candidatesOf(
  problem: FeasiblePlanProblem,
  { alternatives }: SearchResult,
  index: number,
  node: string,
): Decision["candidates"] {
  const others = (alternatives[index] ?? []).filter((each) => problem.nodes[each.node]!.name !== node);
  const worst = Math.max(0, ...others.map(({ delta }) => delta));
  const scoreOf = (delta: number): number =>
    worst <= 0 ? 100 : Math.min(100, Math.max(0, 100 * (1 - delta / worst)));
  const row = (name: string, delta: number): Decision["candidates"][number] => {
    return { name, feasible: true, reason: null, raw: delta, score: scoreOf(delta), parts: { added: delta } };
  };
  return [row(node, 0), ...others.map((each) => row(problem.nodes[each.node]!.name, each.delta))];
}

// PodTopologySpread scores. Source: k8s.io/kubernetes v1.35.8,
// pkg/scheduler/framework/plugins/podtopologyspread/scoring.go.
import type { Population } from "../filters/population.ts";
import type { Topologies } from "../filters/topologies.ts";
import { hasKeys, includes } from "../filters/topology-spread.ts";
import { labelOf, records } from "../objects/json.ts";
import type { NodeState } from "../objects/node-state.ts";
import { countedPods, spreadRules, type SchedulingPod, type SpreadRule } from "../objects/scheduling-pod.ts";
import type { LabelSelector } from "../objects/selectors.ts";
import { ZONE } from "../objects/spread-limits.ts";
import { MAX_SCORE } from "./resource-scores.ts";

interface PopulatedNodes {
  readonly nodes: readonly NodeState[];
  readonly topologies: Topologies;
  readonly population: Population;
}

const HOSTNAME = "kubernetes.io/hostname";
const DEFAULTS = [
  { topologyKey: HOSTNAME, maxSkew: 3 },
  { topologyKey: ZONE, maxSkew: 5 },
] as const;

/**
 * Counts matching pods per topology; larger topologies weigh more, and fewer pods score higher.
 * @param selector of the pod's Services and controller; null: none
 */
export function spreadScores(
  pod: SchedulingPod,
  feasible: readonly NodeState[],
  selector: LabelSelector | null,
  cluster: PopulatedNodes,
): Float64Array {
  const isOwn = records(pod.spec.topologySpreadConstraints).length > 0;
  const rules = isOwn
    ? spreadRules(pod.spec, pod.set, "ScheduleAnyway").filter((rule) => rule !== null)
    : defaultRules(pod, selector);
  const scores = new Float64Array(feasible.length);
  if (rules.length === 0) return scores;
  // Default constraints also score nodes without a key.
  const isScored = feasible.map((node) => !isOwn || hasKeys(node, rules));
  for (const rule of rules) {
    const scored = feasible.filter((_, row) => isScored[row]);
    const score = ruleScore(rule, pod, scored, cluster);
    for (const [row, node] of feasible.entries()) if (isScored[row]) scores[row]! += score(node);
  }
  return normalized(scores, isScored);
}

function defaultRules({ set }: SchedulingPod, selector: LabelSelector | null): SpreadRule[] {
  if (selector === null) return [];
  const counted = countedPods(set.namespace, selector);
  return DEFAULTS.map((rule) => ({
    ...rule,
    ...counted,
    minDomains: 1,
    honorsAffinity: true,
    honorsTaints: false,
  }));
}

function ruleScore(
  rule: SpreadRule,
  pod: SchedulingPod,
  scored: readonly NodeState[],
  { nodes, topologies, population }: PopulatedNodes,
): (node: NodeState) => number {
  const { topologyKey, maxSkew } = rule;
  const onNode = new Int32Array(nodes.length);
  if (!rule.countsNone)
    for (const [set, byNode] of population.sets())
      if (rule.test.matches(set)) for (const [node, { lasting }] of byNode) onNode[node]! += lasting;
  const { domainOf } = topologies.of(topologyKey);
  const inDomain = new Map<number, number>(scored.map(({ index }) => [domainOf[index]!, 0]));
  const isIncluded = includes(rule, pod);
  for (const node of nodes) {
    const before = inDomain.get(domainOf[node.index]!);
    if (before !== undefined && isIncluded(node))
      inDomain.set(domainOf[node.index]!, before + onNode[node.index]!);
  }
  const isHost = topologyKey === HOSTNAME;
  const weight = Math.log((isHost ? scored.length : inDomain.size) + 2);
  return (node) => {
    if (labelOf(node.labels, topologyKey) === undefined) return 0;
    const count = isHost ? onNode[node.index]! : inDomain.get(domainOf[node.index]!)!;
    return count * weight + (maxSkew - 1);
  };
}

/** Rounds, then inverts: the node with the fewest pods scores highest. */
function normalized(scores: Float64Array, isScored: readonly boolean[]): Float64Array {
  let least = Infinity;
  let most = 0;
  for (const [row, score] of scores.entries()) {
    if (!isScored[row]) continue;
    least = Math.min(least, Math.round(score));
    most = Math.max(most, Math.round(score));
  }
  return scores.map((score, row) => {
    if (!isScored[row]) return 0;
    return most === 0 ? MAX_SCORE : Math.trunc((MAX_SCORE * (most + least - Math.round(score))) / most);
  });
}

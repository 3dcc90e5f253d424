import type { NodeState } from "../objects/node-state.ts";
import type { Population } from "./population.ts";
import type { SchedulingPod, SpreadRule } from "../objects/scheduling-pod.ts";
import type { Topologies, Topology } from "./topologies.ts";
import { labelOf, records } from "../objects/json.ts";
import { requiredNodes } from "./node-filters.ts";
import { untoleratedTaint } from "../objects/taints.ts";
import type { Rejection } from "../objects/verdict.ts";

export interface SpreadCount {
  readonly rule: SpreadRule;
  readonly topology: Topology;
  /** 1 for each node whose pods count. */
  readonly included: Uint8Array;
  readonly counts: Int32Array;
  /** 1 for each domain with an included node. The minimum is over these. */
  readonly present: Uint8Array;
  readonly presentDomains: number;
  readonly countsItself: boolean;
}

const TOO_SKEWED: Rejection = {
  plugin: "PodTopologySpread",
  message: "node(s) didn't match pod topology spread constraints",
};
const NO_LABEL: Rejection = {
  plugin: "PodTopologySpread",
  message: "node(s) didn't match pod topology spread constraints (missing required label)",
};

export class SpreadState {
  readonly counts: readonly SpreadCount[];
  readonly #leasts: (Least | null)[];

  constructor(
    pod: SchedulingPod,
    nodes: readonly NodeState[],
    topologies: Topologies,
    population: Population,
  ) {
    const included = new IncludedNodes(pod, nodes);
    this.counts = pod.spread.map((rule) => emptyCount(rule, pod, included.of(rule), topologies));
    this.#leasts = pod.spread.map(() => null);
    if (this.counts.length === 0) return;
    for (const [set, byNode] of population.sets())
      for (const [index, count] of this.counts.entries())
        if (count.rule.test.matches(set))
          for (const [node, { lasting }] of byNode) this.#add(index, node, lasting);
  }

  change(pod: SchedulingPod, node: number, pods: 1 | -1): void {
    if (pod.terminating) return;
    for (const [index, { rule }] of this.counts.entries())
      if (rule.test.matches(pod.set)) this.#add(index, node, pods);
  }

  lacksLabel(node: NodeState): boolean {
    return this.counts.some(({ topology }) => topology.domainOf[node.index]! < 0);
  }

  check(node: NodeState, nominated: readonly SchedulingPod[]): Rejection | null {
    for (const [index, count] of this.counts.entries()) {
      const domain = count.topology.domainOf[node.index]!;
      if (domain < 0) return NO_LABEL;
      const promised =
        count.included[node.index] === 0
          ? 0
          : nominated.filter((pod) => count.rule.test.matches(pod.set)).length;
      const there = count.counts[domain]! + promised;
      const skew = there + (count.countsItself ? 1 : 0) - this.#least(index, domain, promised);
      if (skew > count.rule.maxSkew) return TOO_SKEWED;
    }
    return null;
  }

  #add(index: number, node: number, pods: number): void {
    const { rule, included, counts, topology } = this.counts[index]!;
    if (rule.countsNone || included[node] === 0) return;
    counts[topology.domainOf[node]!]! += pods;
    this.#leasts[index] = null;
  }

  /** Minimum count over the domains, with `more` pods in one. 0 if there are fewer than minDomains. */
  #least(index: number, domain: number, more: number): number {
    const count = this.counts[index]!;
    if (count.presentDomains < count.rule.minDomains || count.presentDomains === 0) return 0;
    const least = (this.#leasts[index] ??= leastOf(count));
    if (more === 0 || count.counts[domain] !== least.pods || least.domains > 1) return least.pods;
    return Math.min(least.next, least.pods + more);
  }
}

interface Least {
  readonly pods: number;
  readonly domains: number;
  readonly next: number;
}

function leastOf({ counts, present }: SpreadCount): Least {
  let [pods, domains, next] = [Infinity, 0, Infinity];
  for (let domain = 0; domain < counts.length; domain++) {
    if (present[domain] === 0) continue;
    const here = counts[domain]!;
    if (here < pods) [pods, domains, next] = [here, 1, pods];
    else if (here === pods) domains++;
    else if (here < next) next = here;
  }
  return { pods, domains, next };
}

export function hasKeys(node: NodeState, rules: readonly SpreadRule[]): boolean {
  return rules.every(({ topologyKey }) => labelOf(node.labels, topologyKey) !== undefined);
}

export function includes(rule: SpreadRule, pod: SchedulingPod): (node: NodeState) => boolean {
  const matches = requiredNodes(pod.spec);
  const tolerations = records(pod.spec.tolerations);
  return (node) =>
    (!rule.honorsAffinity || matches(node)) &&
    (!rule.honorsTaints || untoleratedTaint(node.taints, tolerations) === undefined);
}

class IncludedNodes {
  readonly #pod: SchedulingPod;
  readonly #nodes: readonly NodeState[];
  readonly #byPolicies = new Map<string, Uint8Array>();

  constructor(pod: SchedulingPod, nodes: readonly NodeState[]) {
    this.#pod = pod;
    this.#nodes = nodes;
  }

  /** A node without the keys of all the pod's constraints is excluded from each. */
  of(rule: SpreadRule): Uint8Array {
    const policies = `${rule.honorsAffinity} ${rule.honorsTaints}`;
    let included = this.#byPolicies.get(policies);
    if (included === undefined) {
      const isIncluded = includes(rule, this.#pod);
      included = Uint8Array.from(this.#nodes, (node) =>
        hasKeys(node, this.#pod.spread) && isIncluded(node) ? 1 : 0,
      );
      this.#byPolicies.set(policies, included);
    }
    return included;
  }
}

function emptyCount(
  rule: SpreadRule,
  pod: SchedulingPod,
  included: Uint8Array,
  topologies: Topologies,
): SpreadCount {
  const topology = topologies.of(rule.topologyKey);
  const present = new Uint8Array(topology.values.length);
  for (const [node, isIncluded] of included.entries())
    if (isIncluded === 1) present[topology.domainOf[node]!] = 1;
  return {
    rule,
    topology,
    included,
    counts: new Int32Array(topology.values.length),
    present,
    presentDomains: present.reduce((sum, here) => sum + here, 0),
    countsItself: rule.test.matches(pod.set),
  };
}

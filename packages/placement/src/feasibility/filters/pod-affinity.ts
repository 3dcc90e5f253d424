import type { LabelSet, PodTerm } from "../objects/label-sets.ts";
import type { NodeState } from "../objects/node-state.ts";
import type { Population } from "./population.ts";
import type { SchedulingPod } from "../objects/scheduling-pod.ts";
import { DomainCounts, SparseCounts, type Topologies } from "./topologies.ts";
import type { Rejection } from "../objects/verdict.ts";

const NOT_TOGETHER: Rejection = {
  plugin: "InterPodAffinity",
  message: "node(s) didn't match pod affinity rules",
};
const NOT_APART: Rejection = {
  plugin: "InterPodAffinity",
  message: "node(s) didn't match pod anti-affinity rules",
};
const NOT_WANTED: Rejection = {
  plugin: "InterPodAffinity",
  message: "node(s) didn't satisfy existing pods anti-affinity rules",
};

export function matchesAll(terms: readonly PodTerm[], set: LabelSet): boolean {
  return terms.length > 0 && terms.every(({ test }) => test.matches(set));
}

/** Required (anti-)affinity of one kind of pod, with counts of the matching placed pods by domain. */
export class AffinityState {
  readonly pod: SchedulingPod;
  /** Counts by term, only pods that match all terms. */
  readonly together: readonly DomainCounts[];
  readonly apart: readonly DomainCounts[];

  constructor(pod: SchedulingPod, topologies: Topologies, population: Population) {
    this.pod = pod;
    const counts = (terms: readonly PodTerm[]): DomainCounts[] =>
      terms.map(({ topologyKey }) => new DomainCounts(topologies.of(topologyKey)));
    this.together = counts(pod.affinity);
    this.apart = counts(pod.antiAffinity);
    if (this.together.length + this.apart.length === 0) return;
    for (const [set, byNode] of population.sets())
      for (const count of this.#countsOf(set)) for (const [node, { all }] of byNode) count.add(node, all);
  }

  change(other: SchedulingPod, node: number, pods: 1 | -1): void {
    for (const count of this.#countsOf(other.set)) count.add(node, pods);
  }

  /** @param nominated pods assumed to be on the node */
  check(node: NodeState, placed: PlacedAntiAffinity, nominated: readonly SchedulingPod[]): Rejection | null {
    if (!this.isTogether(node, nominated)) return NOT_TOGETHER;
    return this.#collision(node, placed, nominated);
  }

  isApart(node: NodeState, placed: PlacedAntiAffinity, nominated: readonly SchedulingPod[]): boolean {
    return this.#collision(node, placed, nominated) === null;
  }

  /** The first of a group with affinity to itself may go to any node that has the topology. */
  isTogether(node: NodeState, nominated: readonly SchedulingPod[]): boolean {
    const { affinity, set } = this.pod;
    if (affinity.length === 0) return true;
    if (this.together.some(({ topology }) => topology.domainOf[node.index]! < 0)) return false;
    if (nominated.some((pod) => matchesAll(affinity, pod.set))) return true;
    if (this.together.every((count) => count.at(node.index) > 0)) return true;
    return this.together.every(({ total }) => total === 0) && matchesAll(affinity, set);
  }

  #countsOf(set: LabelSet): DomainCounts[] {
    const { affinity, antiAffinity } = this.pod;
    return [
      ...(matchesAll(affinity, set) ? this.together : []),
      ...this.apart.filter((_, term) => antiAffinity[term]!.test.matches(set)),
    ];
  }

  #collision(
    node: NodeState,
    placed: PlacedAntiAffinity,
    nominated: readonly SchedulingPod[],
  ): Rejection | null {
    const { affinity, antiAffinity, set } = this.pod;
    for (const [index, { test }] of antiAffinity.entries()) {
      const count = this.apart[index]!;
      if (count.topology.domainOf[node.index]! < 0) continue;
      if (count.at(node.index) > 0 || nominated.some((pod) => test.matches(pod.set))) return NOT_APART;
    }
    const unwanted = placed.termsAgainst(set);
    if (unwanted.some(({ counts }) => counts.at(node.index) > 0)) return NOT_WANTED;
    // kube-scheduler skips the whole plugin if neither own terms nor placed pods need it.
    if (affinity.length + antiAffinity.length === 0 && unwanted.every(({ counts }) => counts.total === 0))
      return null;
    const promised = nominated.some((pod) =>
      pod.antiAffinity.some(
        ({ test, topologyKey }) => test.matches(set) && Object.hasOwn(node.labels, topologyKey),
      ),
    );
    return promised ? NOT_WANTED : null;
  }
}

interface PlacedTerm {
  readonly term: PodTerm;
  readonly counts: SparseCounts;
}

export class PlacedAntiAffinity {
  readonly #topologies: Topologies;
  readonly #terms = new Map<string, PlacedTerm>();
  readonly #against = new Map<LabelSet, PlacedTerm[]>();

  constructor(topologies: Topologies) {
    this.#topologies = topologies;
  }

  change(pod: SchedulingPod, node: number, pods: 1 | -1): void {
    for (const term of pod.antiAffinity) this.#of(term).counts.add(node, pods);
  }

  /** Frees caches that can be rebuilt. */
  tidy(): void {
    this.#against.clear();
    for (const [key, { counts }] of this.#terms) if (counts.total === 0) this.#terms.delete(key);
  }

  termsAgainst(set: LabelSet): readonly PlacedTerm[] {
    let terms = this.#against.get(set);
    if (terms === undefined) {
      terms = [...this.#terms.values()].filter(({ term }) => term.test.matches(set));
      this.#against.set(set, terms);
    }
    return terms;
  }

  #of(term: PodTerm): PlacedTerm {
    let placed = this.#terms.get(term.key);
    if (placed === undefined) {
      placed = { term, counts: new SparseCounts(this.#topologies.of(term.topologyKey)) };
      this.#terms.set(term.key, placed);
      this.#against.clear();
    }
    return placed;
  }
}

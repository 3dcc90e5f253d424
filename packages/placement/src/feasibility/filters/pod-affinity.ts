// InterPodAffinity: what a kind of pod wants of others, and what those that are placed don't want near them.
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

/** Whether pods with these labels are what all the terms speak of. */
export function matchesAll(terms: readonly PodTerm[], set: LabelSet): boolean {
  return terms.length > 0 && terms.every(({ test }) => test.matches(set));
}

/** One kind of pod with required (anti-)affinity, and the placed pods that its terms speak of, by domain. */
export class AffinityState {
  readonly pod: SchedulingPod;
  /** By term: pods that match all terms. */
  readonly together: readonly DomainCounts[];
  /** By term: pods that match it. */
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

  /** A pod came to the node (1) or left it (-1). */
  change(other: SchedulingPod, node: number, pods: 1 | -1): void {
    for (const count of this.#countsOf(other.set)) count.add(node, pods);
  }

  /** @param nominated pods that are taken to be on the node as well */
  check(node: NodeState, placed: PlacedAntiAffinity, nominated: readonly SchedulingPod[]): Rejection | null {
    if (!this.isTogether(node, nominated)) return NOT_TOGETHER;
    return this.#collision(node, placed, nominated);
  }

  /** Whether nobody there, or nominated to it, must be apart from it. */
  isApart(node: NodeState, placed: PlacedAntiAffinity, nominated: readonly SchedulingPod[]): boolean {
    return this.#collision(node, placed, nominated) === null;
  }

  /** The first of a group that wants to be with its own kind goes anywhere that has the topology. */
  isTogether(node: NodeState, nominated: readonly SchedulingPod[]): boolean {
    const { affinity, set } = this.pod;
    if (affinity.length === 0) return true;
    if (this.together.some(({ topology }) => topology.domainOf[node.index]! < 0)) return false;
    if (nominated.some((pod) => matchesAll(affinity, pod.set))) return true;
    if (this.together.every((count) => count.at(node.index) > 0)) return true;
    return this.together.every(({ total }) => total === 0) && matchesAll(affinity, set);
  }

  /** Where pods with these labels are counted. */
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
    // kube-scheduler skips the whole plugin, the rules of nominated pods included, when neither own terms nor
    // placed pods ask for it.
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

/** A term of placed pods' anti-affinity, and where they are. */
interface PlacedTerm {
  readonly term: PodTerm;
  readonly counts: SparseCounts;
}

/** Required anti-affinity of the pods that are placed. */
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

  /** Forgets what it can find out again. */
  tidy(): void {
    this.#against.clear();
    for (const [key, { counts }] of this.#terms) if (counts.total === 0) this.#terms.delete(key);
  }

  /** Those that speak of pods with these labels. */
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

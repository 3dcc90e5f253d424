import { MAX_ANSWERS } from "../objects/label-sets.ts";
import type { NodeState } from "../objects/node-state.ts";
import { AffinityState, type PlacedAntiAffinity } from "./pod-affinity.ts";
import type { Population } from "./population.ts";
import type { SchedulingPod } from "../objects/scheduling-pod.ts";
import type { StaticVerdicts } from "./static-verdicts.ts";
import type { Topologies } from "./topologies.ts";
import { SpreadState } from "./topology-spread.ts";
import type { Rejection } from "../objects/verdict.ts";
import { ONE_POD_ONLY, TOO_MANY_VOLUMES, type BoundVolumes, type Storage } from "./volumes.ts";

const WORDS_PER_ANSWER = 12;
const NOBODY: readonly SchedulingPod[] = Object.freeze([]);
const NO_VOLUMES: BoundVolumes = { volumes: [], exclusive: [] };

interface JudgedCluster {
  readonly nodes: readonly NodeState[];
  readonly topologies: Topologies;
  readonly storage: Storage;
  readonly population: Population;
  readonly placedAntiAffinity: PlacedAntiAffinity;
  claimUsers(key: string): number;
  staticVerdicts(pod: SchedulingPod, volumes: BoundVolumes): StaticVerdicts;
}

/** Cached verdicts for one kind of pod. */
export class JudgedTemplate {
  readonly unsupported: readonly string[];
  readonly spread: SpreadState;
  readonly affinity: AffinityState;
  readonly volumes: BoundVolumes;
  readonly #cluster: JudgedCluster;
  readonly #pod: SchedulingPod;
  readonly #static: StaticVerdicts;

  constructor(pod: SchedulingPod, unsupported: readonly string[], cluster: JudgedCluster) {
    this.unsupported = unsupported;
    this.#pod = pod;
    this.#cluster = cluster;
    this.spread = new SpreadState(pod, cluster.nodes, cluster.topologies, cluster.population);
    this.affinity = new AffinityState(pod, cluster.topologies, cluster.population);
    this.volumes = unsupported.length > 0 ? NO_VOLUMES : cluster.storage.boundVolumes(pod);
    this.#static = cluster.staticVerdicts(pod, this.volumes);
  }

  get isCounting(): boolean {
    const { affinity, antiAffinity, spread } = this.#pod;
    return affinity.length + antiAffinity.length + spread.length > 0;
  }

  /** Approximate memory in four-byte words. */
  get words(): number {
    const { together, apart } = this.affinity;
    const rules = [...this.spread.counts, ...together, ...apart];
    return rules.reduce((sum, { counts }) => sum + counts.length + WORDS_PER_ANSWER * MAX_ANSWERS, 0);
  }

  /** A pod was placed (1) or removed (-1). */
  change(pod: SchedulingPod, node: number, pods: 1 | -1): void {
    this.spread.change(pod, node, pods);
    this.affinity.change(pod, node, pods);
  }

  /**
   * As RunFilterPluginsWithNominatedPods: first with pods of equal or higher priority nominated to the node,
   * then without, because these may end up elsewhere.
   * @param pod one of this kind
   */
  verdict(pod: SchedulingPod, node: NodeState): Rejection | null {
    if (this.unsupported.length > 0) return { plugin: "Unsupported", message: this.unsupported.join("; ") };
    const nominated = nominatedBefore(pod, node);
    if (nominated.length > 0) {
      const rejection = this.#check(node, nominated);
      if (rejection !== null) return rejection;
    }
    return this.#check(node, NOBODY);
  }

  /**
   * Returns 1 for each node open to the pod, ignoring resources and pods planned with it. Shared: don't
   * modify.
   * @param joinable whether pods planned with it can meet its affinity
   */
  openNodes(pod: SchedulingPod, joinable: boolean): Uint8Array {
    const { nodes } = this.#cluster;
    if (this.unsupported.length > 0) return new Uint8Array(nodes.length);
    const targets = this.#static.targets();
    if (!this.#looksAtPods()) return targets;
    const open = targets.slice();
    for (const node of nodes)
      if (open[node.index] === 1 && !this.#isOpen(pod, node, joinable)) open[node.index] = 0;
    return open;
  }

  #looksAtPods(): boolean {
    const { ports, affinity, set } = this.#pod;
    if (this.isCounting || ports.length + affinity.length + this.volumes.volumes.length > 0) return true;
    return this.#cluster.placedAntiAffinity.termsAgainst(set).some(({ counts }) => counts.total > 0);
  }

  #isOpen(pod: SchedulingPod, node: NodeState, joinable: boolean): boolean {
    const nominated = nominatedBefore(pod, node);
    if (this.#pod.ports.length > 0 && node.hasTaken(this.#pod.ports, nominated)) return false;
    if (this.#restriction(node, nominated) !== null || this.spread.lacksLabel(node)) return false;
    const { placedAntiAffinity } = this.#cluster;
    return (
      (nominated.length === 0 || this.affinity.isApart(node, placedAntiAffinity, nominated)) &&
      this.affinity.isApart(node, placedAntiAffinity, NOBODY) &&
      (joinable || this.affinity.isTogether(node, NOBODY))
    );
  }

  #check(node: NodeState, nominated: readonly SchedulingPod[]): Rejection | null {
    const { first, last } = this.#static.of(node);
    return (
      first ??
      this.#occupied(node, nominated) ??
      last ??
      this.spread.check(node, nominated) ??
      this.affinity.check(node, this.#cluster.placedAntiAffinity, nominated)
    );
  }

  #occupied(node: NodeState, nominated: readonly SchedulingPod[]): Rejection | null {
    const { ports, requests } = this.#pod;
    if (ports.length > 0 && node.hasTaken(ports, nominated)) return PORTS_TAKEN;
    const missing = node.missing(requests, nominated);
    if (missing.length > 0) return { plugin: "NodeResourcesFit", message: missing.join(", ") };
    return this.#restriction(node, nominated);
  }

  #restriction(node: NodeState, nominated: readonly SchedulingPod[]): Rejection | null {
    if (this.volumes.exclusive.some((claim) => this.#cluster.claimUsers(claim) > 0)) return ONE_POD_ONLY;
    return this.#cluster.storage.exceedsLimits(this.volumes, node, nominated) ? TOO_MANY_VOLUMES : null;
  }
}

const PORTS_TAKEN: Rejection = {
  plugin: "NodePorts",
  message: "node(s) didn't have free ports for the requested pod ports",
};

/** Nominated pods that take precedence over the pod. */
function nominatedBefore(pod: SchedulingPod, node: NodeState): readonly SchedulingPod[] {
  if (node.nominated.size === 0) return NOBODY;
  return [...node.nominated.values()].filter(
    ({ key, uid, priority }) =>
      priority >= pod.priority && key !== pod.key && (uid === "" || uid !== pod.uid),
  );
}

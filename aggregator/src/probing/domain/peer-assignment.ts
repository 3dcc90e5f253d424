import { hash53 } from "../../domain/hash.ts";
import { RotatingPeers } from "./rotating-peers.ts";
import { degreeBudget, isFullMesh, type PeerRule, type PlanNode } from "./rule.ts";
import { assignStablePeers, type StablePeers } from "./stable-peers.ts";
import type { Uncovered } from "./zone-representatives.ts";

export interface AssignmentFigures {
  readonly pairs: number;
  readonly maxInDegree: number;
  readonly uncovered: Uncovered;
}

/**
 * Peers for one list of nodes. Depends only on names, zones, readiness, rule and time, so that all replicas
 * agree. Built once per cluster change.
 */
export class PeerAssignment {
  readonly #nodes: readonly PlanNode[];
  readonly #places: ReadonlyMap<string, number>;
  /** Null: full mesh. */
  readonly #stable: StablePeers | null;
  readonly #rotating: RotatingPeers | null;

  constructor(nodes: readonly PlanNode[], rule: PeerRule) {
    this.#nodes = nodes;
    this.#places = new Map(nodes.map(({ name }, place) => [name, place]));
    if (isFullMesh(nodes.length, rule)) {
      this.#stable = null;
      this.#rotating = null;
      return;
    }
    const hashes = Float64Array.from(nodes, ({ name }) => hash53(name));
    this.#stable = assignStablePeers(nodes, hashes, rule);
    this.#rotating =
      degreeBudget(rule).stable < rule.peers
        ? new RotatingPeers(nodes, hashes, this.#stable.chosen, rule.rotationMs)
        : null;
  }

  node(name: string): PlanNode | null {
    return this.#nodes[this.#places.get(name) ?? -1] ?? null;
  }

  /** Sorted by name; empty for an unknown node. */
  peersOf(name: string, nowMs: number): PlanNode[] {
    return this.#peers(name, nowMs)
      .sort((a, b) => a - b)
      .map((place) => this.#nodes[place]!);
  }

  has(source: string, target: string, nowMs: number): boolean {
    const from = this.#places.get(source);
    const to = this.#places.get(target);
    if (from === undefined || to === undefined || from === to) return false;
    if (this.#stable === null) return this.#nodes[to]!.eligible;
    return this.#stable.chosen[from]!.includes(to) || this.#rotating?.of(from, nowMs) === to;
  }

  /** Takes time proportional to the number of pairs. */
  figures(nowMs: number): AssignmentFigures {
    const inDegrees = new Map<number, number>();
    let pairs = 0;
    for (const { name } of this.#nodes) {
      for (const peer of this.#peers(name, nowMs)) {
        pairs += 1;
        inDegrees.set(peer, (inDegrees.get(peer) ?? 0) + 1);
      }
    }
    return {
      pairs,
      maxInDegree: inDegrees.values().reduce((most, degree) => Math.max(most, degree), 0),
      uncovered: this.#stable?.uncovered ?? { inDegree: 0, maxZones: 0 },
    };
  }

  #peers(name: string, nowMs: number): number[] {
    const place = this.#places.get(name);
    if (place === undefined) return [];
    if (this.#stable === null) {
      return [...this.#nodes.keys()].filter((other) => other !== place && this.#nodes[other]!.eligible);
    }
    const rotating = this.#rotating?.of(place, nowMs) ?? -1;
    return rotating < 0 ? [...this.#stable.chosen[place]!] : [...this.#stable.chosen[place]!, rotating];
  }
}

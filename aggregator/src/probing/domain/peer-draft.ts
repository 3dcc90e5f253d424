import type { Circle } from "./circle.ts";
import type { PlanNode } from "./rule.ts";

/** Peers in the making. */
export class PeerDraft {
  readonly nodes: readonly PlanNode[];
  readonly chosen: number[][];
  readonly #extraLimit: number;
  /** How many have each node as an extra peer. */
  readonly #extras: Uint16Array;
  /**
   * How many aren't full. While most nodes aren't ready, this ends the search for those that would find
   * nobody.
   */
  #open: number;

  constructor(nodes: readonly PlanNode[], extraLimit: number) {
    this.nodes = nodes;
    this.chosen = nodes.map(() => []);
    this.#extraLimit = extraLimit;
    this.#extras = new Uint16Array(nodes.length);
    this.#open = extraLimit > 0 ? nodes.filter(({ eligible }) => eligible).length : 0;
  }

  /** Whether nobody more may have it as an extra peer. */
  isFull(place: number): boolean {
    return this.#extras[place]! >= this.#extraLimit;
  }

  /**
   * The next on the circle, or where that one is a peer already, the first after it that is none and not
   * full.
   */
  follow(circle: Circle, place: number): void {
    const next = circle.after(place, (candidate) => this.nodes[candidate]!.eligible);
    if (next >= 0 && !this.chosen[place]!.includes(next)) this.chosen[place]!.push(next);
    else this.followExtra(circle, place);
  }

  /** The first on the circle that is no peer yet and not full. */
  followExtra(circle: Circle, place: number): void {
    if (this.#open === 0) return;
    const peers = this.chosen[place]!;
    const found = circle.after(
      place,
      (candidate) => this.nodes[candidate]!.eligible && !this.isFull(candidate) && !peers.includes(candidate),
    );
    if (found >= 0) this.addExtra(place, found);
  }

  /** `peer` must not be full, nor a peer of `place` already. */
  addExtra(place: number, peer: number): void {
    this.chosen[place]!.push(peer);
    this.#extras[peer]! += 1;
    if (this.isFull(peer)) this.#open -= 1;
  }
}

import type { Circle } from "./circle.ts";
import type { PlanNode } from "./rule.ts";

export class PeerDraft {
  readonly nodes: readonly PlanNode[];
  readonly chosen: number[][];
  readonly #extraLimit: number;
  readonly #extras: Uint16Array;
  /** Number of nodes that are not full; at 0 searches end early, such as when most nodes are not ready. */
  #open: number;

  constructor(nodes: readonly PlanNode[], extraLimit: number) {
    this.nodes = nodes;
    this.chosen = nodes.map(() => []);
    this.#extraLimit = extraLimit;
    this.#extras = new Uint16Array(nodes.length);
    this.#open = extraLimit > 0 ? nodes.filter(({ eligible }) => eligible).length : 0;
  }

  isFull(place: number): boolean {
    return this.#extras[place]! >= this.#extraLimit;
  }

  /** Adds the successor on the circle, or the first later node that is neither a peer nor full. */
  follow(circle: Circle, place: number): void {
    const next = circle.after(place, (candidate) => this.nodes[candidate]!.eligible);
    if (next >= 0 && !this.chosen[place]!.includes(next)) this.chosen[place]!.push(next);
    else this.followExtra(circle, place);
  }

  followExtra(circle: Circle, place: number): void {
    if (this.#open === 0) return;
    const peers = this.chosen[place]!;
    const found = circle.after(
      place,
      (candidate) => this.nodes[candidate]!.eligible && !this.isFull(candidate) && !peers.includes(candidate),
    );
    if (found >= 0) this.addExtra(place, found);
  }

  /** Requires that `peer` is not full and not yet a peer of `place`. */
  addExtra(place: number, peer: number): void {
    this.chosen[place]!.push(peer);
    this.#extras[peer]! += 1;
    if (this.isFull(peer)) this.#open -= 1;
  }
}

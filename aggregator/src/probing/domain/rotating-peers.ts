import { Circle, remix } from "./circle.ts";
import { EXTRA_ROTATING, type PlanNode } from "./rule.ts";

/** Number of cached windows: nodes are in two at a time, and replicas' clocks differ slightly. */
const MAX_WINDOWS = 3;

/** Distinct from the salts of circles and zones. */
const SALT = 0x70000001;

/** Each node's peer that changes per window. Windows start at different times per node. */
export class RotatingPeers {
  readonly #nodes: readonly PlanNode[];
  readonly #hashes: Float64Array;
  readonly #chosen: readonly (readonly number[])[];
  readonly #rotationMs: number;
  readonly #windows = new Map<number, Int32Array>();

  constructor(
    nodes: readonly PlanNode[],
    hashes: Float64Array,
    chosen: readonly (readonly number[])[],
    rotationMs: number,
  ) {
    this.#nodes = nodes;
    this.#hashes = hashes;
    this.#chosen = chosen;
    this.#rotationMs = rotationMs;
  }

  /** Returns -1 if there is none. Unready nodes have none. */
  of(place: number, nowMs: number): number {
    const phase = remix(this.#hashes[place]!, SALT) / 2 ** 53;
    const window = Math.floor(nowMs / this.#rotationMs + phase);
    return this.#peersIn(window)[place]!;
  }

  #peersIn(window: number): Int32Array {
    const known = this.#windows.get(window);
    if (known !== undefined) return known;
    const peers = this.#draw(window);
    this.#windows.set(window, peers);
    const [oldest] = this.#windows.keys();
    if (this.#windows.size > MAX_WINDOWS) this.#windows.delete(oldest!);
    return peers;
  }

  #draw(window: number): Int32Array {
    const nodes = this.#nodes;
    const circle = new Circle(this.#hashes.map((hash) => remix(remix(hash, SALT + 1), window)));
    const extras = new Uint8Array(nodes.length);
    return Int32Array.from(nodes, (node, place) => {
      if (!node.eligible) return -1;
      const chosen = this.#chosen[place]!;
      const next = circle.after(place, (candidate) => nodes[candidate]!.eligible);
      if (next < 0 || !chosen.includes(next)) return next;
      const other = circle.after(
        place,
        (candidate) =>
          nodes[candidate]!.eligible && extras[candidate]! < EXTRA_ROTATING && !chosen.includes(candidate),
      );
      if (other >= 0) extras[other]! += 1;
      return other;
    });
  }
}

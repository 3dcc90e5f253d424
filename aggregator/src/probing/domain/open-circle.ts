import { orderOf } from "./circle.ts";

/**
 * Points on a circle that close for good, one after the other. Finding the next open one after any position
 * stays cheap however many have closed: closed runs are skipped as a whole (union-find with path halving).
 */
export class OpenCircle {
  /** In ascending order. */
  readonly #positions: Float64Array;
  /** What each point stands for; several points may stand for one thing. */
  readonly #owners: Int32Array;
  /** The next point that may be open; the point itself while it is. The last entry stands for the end. */
  readonly #next: Int32Array;

  /** @param positions of points, whole numbers from 0 to 2^53 - 1, each with its owner at the same index */
  constructor(positions: Float64Array, owners: Int32Array) {
    const order = orderOf(positions);
    const count = order.length;
    this.#positions = new Float64Array(count);
    this.#owners = new Int32Array(count);
    this.#next = new Int32Array(count + 1);
    this.#next[count] = count;
    for (let rank = 0; rank < count; rank++) {
      this.#positions[rank] = positions[order[rank]!]!;
      this.#owners[rank] = owners[order[rank]!]!;
      this.#next[rank] = rank;
    }
  }

  /**
   * The owner of the first point from `position` on that is open. A point whose owner `isClosed` closes. -1:
   * none is left.
   */
  first(position: number, isClosed: (owner: number) => boolean): number {
    const found = this.#scan(this.#search(position), isClosed);
    return found >= 0 ? found : this.#scan(0, isClosed);
  }

  #scan(from: number, isClosed: (owner: number) => boolean): number {
    const end = this.#owners.length;
    for (let point = this.#open(from); point < end; point = this.#open(point)) {
      const owner = this.#owners[point]!;
      if (!isClosed(owner)) return owner;
      this.#next[point] = point + 1;
    }
    return -1;
  }

  #open(point: number): number {
    const next = this.#next;
    let current = point;
    while (next[current] !== current) {
      next[current] = next[next[current]!]!;
      current = next[current]!;
    }
    return current;
  }

  #search(position: number): number {
    let low = 0;
    let high = this.#positions.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#positions[middle]! < position) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

import { orderOf } from "./circle.ts";

/** Points on a circle that close permanently. Union-find with path halving skips closed runs. */
export class OpenCircle {
  readonly #positions: Float64Array;
  readonly #owners: Int32Array;
  /** Next point that may be open, or the point itself. The last entry is the end. */
  readonly #next: Int32Array;

  /** @param positions integers from 0 to 2^53 - 1, with the owner of each at the same index */
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

  /** Owner of the first open point from `position` on; -1: none. Closes points whose owner `isClosed`. */
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

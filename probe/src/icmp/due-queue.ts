/** Things ordered by the time that they are due at: a binary heap. Each thing should be in it at most once. */
export class DueQueue<T> {
  readonly #heap: { readonly atMs: number; readonly item: T }[] = [];

  /** Infinity when empty. */
  get nextMs(): number {
    return this.#heap[0]?.atMs ?? Number.POSITIVE_INFINITY;
  }

  add(item: T, atMs: number): void {
    const heap = this.#heap;
    const entry = { atMs, item };
    let at = heap.length;
    heap.push(entry);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent] as typeof entry;
      if (above.atMs <= atMs) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = entry;
  }

  /** Takes out the first thing that is due at `nowMs`; null when none is. */
  take(nowMs: number): T | null {
    const heap = this.#heap;
    const first = heap[0];
    if (first === undefined || first.atMs > nowMs) return null;
    const last = heap.pop() as typeof first;
    if (heap.length > 0) this.#sink(last);
    return first.item;
  }

  #sink(entry: { readonly atMs: number; readonly item: T }): void {
    const heap = this.#heap;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      const right = heap[child + 1];
      if (right !== undefined && right.atMs < (heap[child] as typeof entry).atMs) child++;
      const below = heap[child] as typeof entry;
      if (below.atMs >= entry.atMs) break;
      heap[at] = below;
      at = child;
    }
    heap[at] = entry;
  }
}

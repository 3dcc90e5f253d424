interface Entry<T> {
  readonly key: number;
  readonly order: number;
  readonly item: T;
}

/** Binary heap, smallest key first, stable for equal keys. */
export class MinHeap<T> {
  readonly #entries: Entry<T>[] = [];
  #added = 0;

  get size(): number {
    return this.#entries.length;
  }

  get nextKey(): number {
    return this.#entries[0]?.key ?? Infinity;
  }

  /** Undefined if empty. */
  get nextItem(): T | undefined {
    return this.#entries[0]?.item;
  }

  push(key: number, item: T): void {
    const entries = this.#entries;
    const entry = { key, order: this.#added++, item };
    let at = entries.length;
    entries.push(entry);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(entry, entries[parent]!)) break;
      entries[at] = entries[parent]!;
      at = parent;
    }
    entries[at] = entry;
  }

  pop(): T | undefined {
    const entries = this.#entries;
    const first = entries[0];
    const last = entries.pop();
    if (first === undefined || last === undefined) return undefined;
    const size = entries.length;
    if (size === 0) return first.item;
    let at = 0;
    for (let child = 1; child < size; child = 2 * at + 1) {
      if (child + 1 < size && isBefore(entries[child + 1]!, entries[child]!)) child++;
      if (!isBefore(entries[child]!, last)) break;
      entries[at] = entries[child]!;
      at = child;
    }
    entries[at] = last;
    return first.item;
  }

  clear(): void {
    this.#entries.length = 0;
  }
}

function isBefore(a: Entry<unknown>, b: Entry<unknown>): boolean {
  return a.key < b.key || (a.key === b.key && a.order < b.order);
}

/**
 * Heap of whole numbers by key without an object per entry, for searches and simulations of millions of
 * steps. Four children per node: half as deep as a binary heap, and children share a cache line.
 */
export class NumberHeap {
  nextKey = Infinity;
  #keys: Float64Array;
  #items: Int32Array;
  #size = 0;

  constructor(capacity = 1024) {
    this.#keys = new Float64Array(capacity);
    this.#items = new Int32Array(capacity);
  }

  get size(): number {
    return this.#size;
  }

  push(key: number, item: number): void {
    if (this.#size === this.#keys.length) this.#grow();
    const keys = this.#keys;
    const items = this.#items;
    let at = this.#size++;
    while (at > 0) {
      const parent = (at - 1) >> 2;
      if (keys[parent]! <= key) break;
      keys[at] = keys[parent]!;
      items[at] = items[parent]!;
      at = parent;
    }
    keys[at] = key;
    items[at] = item;
    this.nextKey = keys[0]!;
  }

  /** Removes the first item, which must exist. */
  pop(): number {
    const keys = this.#keys;
    const items = this.#items;
    const first = items[0]!;
    const size = --this.#size;
    if (size === 0) {
      this.nextKey = Infinity;
      return first;
    }
    const key = keys[size]!;
    const item = items[size]!;
    let at = 0;
    for (;;) {
      const from = 4 * at + 1;
      if (from >= size) break;
      const to = Math.min(from + 4, size);
      let least = from;
      for (let child = from + 1; child < to; child++) if (keys[child]! < keys[least]!) least = child;
      if (keys[least]! >= key) break;
      keys[at] = keys[least]!;
      items[at] = items[least]!;
      at = least;
    }
    keys[at] = key;
    items[at] = item;
    this.nextKey = keys[0]!;
    return first;
  }

  #grow(): void {
    const keys = new Float64Array(Math.max(1, this.#keys.length * 2));
    const items = new Int32Array(keys.length);
    keys.set(this.#keys);
    items.set(this.#items);
    this.#keys = keys;
    this.#items = items;
  }
}

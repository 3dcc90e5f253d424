// A bounded map in which nobody's entries push out another's: whoever has most of it gives up an entry.

/** Whom an entry counts for. */
export interface Share {
  readonly namespace: string;
  /** In its namespace: a workload, or a pod. */
  readonly owner: string;
}

interface NamespaceShare {
  readonly owners: Sizes;
  /** By owner: keys, oldest first. */
  readonly keys: Map<string, Set<string>>;
}

/**
 * Keeps entries in the order in which they came. When it is full, the oldest entry of the largest owner in the largest namespace goes, so
 * that a namespace keeps its share whatever others do. Every operation takes constant time.
 */
export class FairMap<V> {
  readonly #limit: number;
  readonly #shareOf: (value: V) => Share;
  readonly #values = new Map<string, V>();
  readonly #namespaces = new Sizes();
  readonly #shares = new Map<string, NamespaceShare>();

  constructor(limit: number, shareOf: (value: V) => Share) {
    this.#limit = limit;
    this.#shareOf = shareOf;
  }

  get size(): number {
    return this.#values.size;
  }

  get(key: string): V | undefined {
    return this.#values.get(key);
  }

  has(key: string): boolean {
    return this.#values.has(key);
  }

  /** Oldest first. */
  entries(): IterableIterator<[string, V]> {
    return this.#values.entries();
  }

  /** Puts the entry last; an older one of that key is replaced. Returns what had to go for it; null: nothing. */
  set(key: string, value: V): readonly [key: string, value: V] | null {
    this.delete(key);
    this.#values.set(key, value);
    const { namespace, owner } = this.#shareOf(value);
    let share = this.#shares.get(namespace);
    if (share === undefined) {
      share = { owners: new Sizes(), keys: new Map() };
      this.#shares.set(namespace, share);
    }
    const keys = share.keys.get(owner);
    if (keys === undefined) share.keys.set(owner, new Set([key]));
    else keys.add(key);
    share.owners.grow(owner);
    this.#namespaces.grow(namespace);
    return this.#values.size > this.#limit ? this.#dropOne() : null;
  }

  delete(key: string): boolean {
    const value = this.#values.get(key);
    if (value === undefined) return false;
    this.#values.delete(key);
    const { namespace, owner } = this.#shareOf(value);
    const { owners, keys } = this.#shares.get(namespace)!;
    const own = keys.get(owner)!;
    own.delete(key);
    if (own.size === 0) keys.delete(owner);
    owners.shrink(owner);
    this.#namespaces.shrink(namespace);
    if (keys.size === 0) this.#shares.delete(namespace);
    return true;
  }

  #dropOne(): readonly [string, V] {
    const { owners, keys } = this.#shares.get(this.#namespaces.largest())!;
    const [key] = keys.get(owners.largest())!;
    const value = this.#values.get(key!)!;
    this.delete(key!);
    return [key!, value];
  }
}

/** Sizes of named groups, and the largest one. */
class Sizes {
  readonly #sizes = new Map<string, number>();
  /** By size: names, in the order in which they came to it. */
  readonly #bySize: Set<string>[] = [];
  #most = 0;

  grow(name: string): void {
    this.#move(name, 1);
  }

  shrink(name: string): void {
    this.#move(name, -1);
  }

  /** Of several the one that has been so large for the longest time. Only while there is one. */
  largest(): string {
    const [name] = this.#bySize[this.#most]!;
    return name!;
  }

  #move(name: string, by: 1 | -1): void {
    const before = this.#sizes.get(name) ?? 0;
    const after = before + by;
    this.#bySize[before]?.delete(name);
    if (after === 0) this.#sizes.delete(name);
    else {
      this.#sizes.set(name, after);
      (this.#bySize[after] ??= new Set()).add(name);
    }
    if (after > this.#most) this.#most = after;
    else if (before === this.#most && this.#bySize[before]!.size === 0) {
      this.#bySize.length = before;
      this.#most = before - 1;
    }
  }
}

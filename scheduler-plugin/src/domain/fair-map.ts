// A bounded map in which nobody's entries push out another's: whoever has most of it gives up an entry.

/** Whom an entry counts for. */
interface Share {
  readonly namespace: string;
  /** In its namespace: a workload, or a pod. */
  readonly owner: string;
}

/** An owner that has more than this part of the map makes room for its new entries itself. */
const OWNER_PART = 1 / 8;

/**
 * Keeps entries in the order in which they came. When it is full, the oldest entry of the largest namespace
 * goes, or of the owner whose entry came, where that owner has more than an eighth of the map: so a namespace
 * keeps its share whatever others do. While it isn't full that takes two counters.
 */
export class FairMap<V> {
  readonly #limit: number;
  readonly #shareOf: (value: V) => Share;
  readonly #values = new Map<string, V>();
  readonly #namespaces = new Map<string, number>();
  /** By namespace/owner. */
  readonly #owners = new Map<string, number>();

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

  /**
   * Puts the entry last; an older one of that key is replaced. Returns the key of what had to go for it;
   * null: nothing.
   */
  set(key: string, value: V): string | null {
    this.delete(key);
    this.#values.set(key, value);
    this.#count(value, 1);
    return this.#values.size > this.#limit ? this.#dropFor(value) : null;
  }

  delete(key: string): boolean {
    const value = this.#values.get(key);
    if (value === undefined) return false;
    this.#values.delete(key);
    this.#count(value, -1);
    return true;
  }

  #count(value: V, by: 1 | -1): void {
    const { namespace, owner } = this.#shareOf(value);
    add(this.#namespaces, namespace, by);
    add(this.#owners, `${namespace}/${owner}`, by);
  }

  #dropFor(added: V): string {
    const largest = this.#largestNamespace();
    const { namespace, owner } = this.#shareOf(added);
    const own = this.#owners.get(`${namespace}/${owner}`)!;
    const pays = namespace === largest && own > Math.max(1, this.#limit * OWNER_PART);
    for (const [key, value] of this.#values) {
      const share = this.#shareOf(value);
      if (share.namespace !== largest || (pays && share.owner !== owner)) continue;
      this.delete(key);
      return key;
    }
    throw new Error(`no entry is of the largest namespace ${largest}`);
  }

  #largestNamespace(): string {
    let [largest, most] = ["", 0];
    for (const [namespace, count] of this.#namespaces) if (count > most) [largest, most] = [namespace, count];
    return largest;
  }
}

function add(counts: Map<string, number>, name: string, by: number): void {
  const count = (counts.get(name) ?? 0) + by;
  if (count === 0) counts.delete(name);
  else counts.set(name, count);
}

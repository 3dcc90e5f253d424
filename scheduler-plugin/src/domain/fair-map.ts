// A bounded map in which nobody's entries push out another's: whoever has most of it gives up an entry.

/** Whom an entry counts for. */
interface Share {
  readonly namespace: string;
  /** In its namespace: a workload, or a pod. */
  readonly owner: string;
}

/** An owner that has more than this part of the map makes room for its new entries itself. */
const OWNER_PART = 1 / 8;

/** What is counted of a namespace; without entries it is dropped. */
interface NamespaceCount {
  readonly namespace: string;
  readonly owners: Map<string, OwnerCount>;
  entries: number;
}

interface OwnerCount {
  readonly owner: string;
  readonly of: NamespaceCount;
  entries: number;
}

interface Entry<V> {
  readonly key: string;
  readonly value: V;
  readonly countedFor: OwnerCount;
  older: Entry<V> | null;
  newer: Entry<V> | null;
}

/**
 * Keeps entries by age: in the order in which they came, or as `compareAge` says. When the map is full, the
 * oldest entry of the largest namespace goes. If the new entry's owner has more than an eighth of the map,
 * the oldest entry of that owner goes instead. So a namespace keeps its share whatever others do.
 */
export class FairMap<V> {
  readonly #limit: number;
  readonly #shareOf: (value: V) => Share;
  readonly #compareAge: (a: V, b: V) => number;
  /**
   * A list by age beside it: the first entry of a Map from which entries were deleted is behind the places of
   * those.
   */
  readonly #entries = new Map<string, Entry<V>>();
  #oldest: Entry<V> | null = null;
  #newest: Entry<V> | null = null;
  readonly #namespaces = new Map<string, NamespaceCount>();

  /** @param compareAge below 0: `a` is older than `b`; 0: the one that came first. @default all are equal */
  constructor(limit: number, shareOf: (value: V) => Share, compareAge: (a: V, b: V) => number = () => 0) {
    this.#limit = limit;
    this.#shareOf = shareOf;
    this.#compareAge = compareAge;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): V | undefined {
    return this.#entries.get(key)?.value;
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  /** The oldest entry that is left. */
  get oldest(): { readonly key: string; readonly value: V } | null {
    return this.#oldest;
  }

  /** Oldest first. */
  *entries(): Generator<readonly [string, V]> {
    // Whoever goes through them may delete the one that is shown.
    for (let entry = this.#oldest; entry !== null; entry = entry.newer) yield [entry.key, entry.value];
  }

  /**
   * Puts the entry at the place of its age, and replaces one of that key. Returns what had to go for it,
   * which may be the new entry itself; null: nothing.
   */
  set(key: string, value: V): { readonly key: string; readonly value: V } | null {
    this.delete(key);
    const countedFor = this.#countFor(this.#shareOf(value));
    let older = this.#newest;
    while (older !== null && this.#compareAge(value, older.value) < 0) older = older.older;
    const newer = older === null ? this.#oldest : older.newer;
    const entry: Entry<V> = { key, value, countedFor, older, newer };
    this.#entries.set(key, entry);
    if (older === null) this.#oldest = entry;
    else older.newer = entry;
    if (newer === null) this.#newest = entry;
    else newer.older = entry;
    return this.#entries.size > this.#limit ? this.#dropFor(countedFor) : null;
  }

  delete(key: string): boolean {
    const entry = this.#entries.get(key);
    if (entry === undefined) return false;
    this.#entries.delete(key);
    const { older, newer } = entry;
    if (older === null) this.#oldest = newer;
    else older.newer = newer;
    if (newer === null) this.#newest = older;
    else newer.older = older;
    const owner = entry.countedFor;
    if (--owner.entries === 0) owner.of.owners.delete(owner.owner);
    if (--owner.of.entries === 0) this.#namespaces.delete(owner.of.namespace);
    return true;
  }

  #countFor({ namespace, owner }: Share): OwnerCount {
    let of = this.#namespaces.get(namespace);
    if (of === undefined)
      this.#namespaces.set(namespace, (of = { namespace, owners: new Map(), entries: 0 }));
    let count = of.owners.get(owner);
    if (count === undefined) of.owners.set(owner, (count = { owner, of, entries: 0 }));
    of.entries++;
    count.entries++;
    return count;
  }

  /**
   * Of namespaces of equal size the one with the oldest entry pays: the result depends on no order of
   * arrival.
   */
  #dropFor(added: OwnerCount): Entry<V> {
    const largest = this.#largestNamespace();
    const pays = added.of.entries === largest && added.entries > Math.max(1, this.#limit * OWNER_PART);
    for (let entry = this.#oldest; entry !== null; entry = entry.newer) {
      if (pays ? entry.countedFor !== added : entry.countedFor.of.entries < largest) continue;
      this.delete(entry.key);
      return entry;
    }
    throw new Error(`no entry is of a namespace with ${largest} entries`);
  }

  #largestNamespace(): number {
    let largest = 0;
    for (const { entries } of this.#namespaces.values()) largest = Math.max(largest, entries);
    return largest;
  }
}

interface Share {
  readonly namespace: string;
  readonly owner: string;
}

/** An owner with more than this part of the map gives up its own oldest entry. */
const OWNER_PART = 1 / 8;

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
 * A bounded map, ordered by age. When full, the largest namespace loses its oldest entry, or the new entry's
 * owner if it has more than an eighth of the map. So a namespace keeps its share whatever others do.
 */
export class FairMap<V> {
  readonly #limit: number;
  readonly #shareOf: (value: V) => Share;
  readonly #compareAge: (a: V, b: V) => number;
  /** A linked list keeps the order: finding the first entry of a Map is slow after many deletions. */
  readonly #entries = new Map<string, Entry<V>>();
  #oldest: Entry<V> | null = null;
  #newest: Entry<V> | null = null;
  readonly #namespaces = new Map<string, NamespaceCount>();

  /** @param compareAge negative if `a` is older; 0: order of arrival. @default all equal */
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

  get oldest(): { readonly key: string; readonly value: V } | null {
    return this.#oldest;
  }

  *entries(): Generator<readonly [string, V]> {
    // The caller may delete the current entry.
    for (let entry = this.#oldest; entry !== null; entry = entry.newer) yield [entry.key, entry.value];
  }

  /** Inserts by age, replacing the key's entry. Returns the evicted entry, perhaps the new one, or null. */
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

  /** Ties go to the namespace with the oldest entry, so the result doesn't depend on the order of arrival. */
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

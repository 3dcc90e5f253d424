// Maps names to ids for thousands of look-ups per request. Hashes only the most distinctive characters, which
// is faster than a Map with fresh strings.

const SAMPLED = 8;
const MAX_POSITIONS = 128;
/** Maximum probes. Similar names crowd the table; beyond this, a Map is used. */
const MAX_STEPS = 24;

/** A name's id is its position; the last of equal names wins. */
export class NameIndex {
  readonly #names: readonly string[];
  readonly #positions: Int32Array;
  /** Ids; -1: empty. The size is a power of two, or 0 if a Map is used. */
  readonly #slots: Int32Array;
  readonly #map: ReadonlyMap<string, number> | null;

  constructor(names: readonly string[]) {
    this.#names = names;
    this.#positions = sampledPositions(names);
    let size = 16;
    while (size < 4 * names.length) size *= 2;
    this.#slots = new Int32Array(size).fill(-1);
    this.#map = this.#fill() ? null : new Map(names.map((name, id) => [name, id]));
  }

  idOf(name: string): number {
    if (this.#map !== null) return this.#map.get(name) ?? -1;
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let at = this.#hash(name) & mask; ; at = (at + 1) & mask) {
      const id = slots[at]!;
      if (id < 0 || this.#names[id] === name) return id;
    }
  }

  #fill(): boolean {
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (const [id, name] of this.#names.entries()) {
      let at = this.#hash(name) & mask;
      let steps = 0;
      while (slots[at]! >= 0 && this.#names[slots[at]!] !== name) {
        if (++steps > MAX_STEPS) return false;
        at = (at + 1) & mask;
      }
      slots[at] = id;
    }
    return true;
  }

  #hash(name: string): number {
    const positions = this.#positions;
    let hash = name.length;
    for (let index = 0; index < positions.length; index++) {
      const at = positions[index]!;
      if (at < name.length) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193);
    }
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
    return hash ^ (hash >>> 13);
  }
}

function sampledPositions(names: readonly string[]): Int32Array {
  const seen: Set<number>[] = [];
  for (const name of names) {
    for (let at = 0; at < Math.min(name.length, MAX_POSITIONS); at++)
      (seen[at] ??= new Set()).add(name.charCodeAt(at));
  }
  const byVariety = seen.map((characters, at) => ({ at, variety: characters.size }));
  byVariety.sort((x, y) => y.variety - x.variety || x.at - y.at);
  return Int32Array.from(
    byVariety.slice(0, SAMPLED).filter(({ variety }) => variety > 1),
    ({ at }) => at,
  ).sort();
}

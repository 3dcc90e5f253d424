export const FIRST_SLOTS = 64;

export const NO_SLOT = -1;

/** Hash chains of slots in typed arrays. The owner of the slots grows it. */
export class SlotIndex {
  #hashes = new Int32Array(FIRST_SLOTS);
  #next = new Int32Array(FIRST_SLOTS);
  #buckets = new Int32Array(FIRST_SLOTS).fill(NO_SLOT);

  first(hash: number): number {
    return this.#buckets[hash & (this.#buckets.length - 1)]!;
  }

  after(slot: number): number {
    return this.#next[slot]!;
  }

  hashOf(slot: number): number {
    return this.#hashes[slot]!;
  }

  link(slot: number, hash: number): void {
    const bucket = hash & (this.#buckets.length - 1);
    this.#hashes[slot] = hash;
    this.#next[slot] = this.#buckets[bucket]!;
    this.#buckets[bucket] = slot;
  }

  unlink(slot: number): void {
    const bucket = this.#hashes[slot]! & (this.#buckets.length - 1);
    if (this.#buckets[bucket] === slot) {
      this.#buckets[bucket] = this.#next[slot]!;
      return;
    }
    let before = this.#buckets[bucket]!;
    while (this.#next[before] !== slot) before = this.#next[before]!;
    this.#next[before] = this.#next[slot]!;
  }

  /** @param length new capacity, a power of two @param size linked slots */
  grow(length: number, size: number): void {
    const hashes = this.#hashes;
    this.#hashes = new Int32Array(length);
    this.#next = new Int32Array(length);
    this.#buckets = new Int32Array(length).fill(NO_SLOT);
    for (let slot = 0; slot < size; slot++) this.link(slot, hashes[slot]!);
  }
}

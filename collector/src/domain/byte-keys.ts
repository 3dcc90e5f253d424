import { equalBytes, hashBytes } from "@isochrone/telemetry";

const FIRST_SLOTS = 64;
const FIRST_BYTES = 4_096;
const NONE = -1;
/** Five columns of 4 bytes. */
const BYTES_PER_SLOT = 20;

/** Maps byte strings to slots in insertion order, for parallel arrays. `retain` renumbers the slots. */
export class ByteKeys {
  readonly #seed: number;
  #size = 0;
  #bytes = new Uint8Array(FIRST_BYTES);
  #view = new DataView(this.#bytes.buffer);
  #ends = new Uint32Array(FIRST_SLOTS);
  #owners = new Int32Array(FIRST_SLOTS);
  #hashes = new Int32Array(FIRST_SLOTS);
  #next = new Int32Array(FIRST_SLOTS);
  #buckets = new Int32Array(FIRST_SLOTS).fill(NONE);
  #lastHash = 0;

  /** @param seed makes collisions unpredictable for attackers */
  constructor(seed: number) {
    this.#seed = seed;
  }

  get size(): number {
    return this.#size;
  }

  get memoryBytes(): number {
    return this.#bytes.length + this.#ends.length * BYTES_PER_SLOT;
  }

  get bytes(): Uint8Array {
    return this.#bytes;
  }

  startOf(slot: number): number {
    return slot === 0 ? 0 : this.#ends[slot - 1]!;
  }

  endOf(slot: number): number {
    return this.#ends[slot]!;
  }

  ownerOf(slot: number): number {
    return this.#owners[slot]!;
  }

  /** Slot of a key, or -1. `owner` distinguishes keys of equal bytes. */
  find(owner: number, view: DataView, start: number, end: number): number {
    const hash = hashBytes(view, start, end, Math.imul(owner ^ this.#seed, 0x9e3779b1));
    this.#lastHash = hash;
    const length = end - start;
    let slot = this.#buckets[hash & (this.#buckets.length - 1)]!;
    for (; slot !== NONE; slot = this.#next[slot]!) {
      if (this.#hashes[slot] !== hash || this.#owners[slot] !== owner) continue;
      const from = this.startOf(slot);
      if (this.#ends[slot]! - from === length && equalBytes(view, start, this.#view, from, length))
        return slot;
    }
    return NONE;
  }

  isAt(slot: number, owner: number, view: DataView, start: number, end: number): boolean {
    if (slot < 0 || slot >= this.#size || this.#owners[slot] !== owner) return false;
    const from = this.startOf(slot);
    return this.#ends[slot]! - from === end - start && equalBytes(view, start, this.#view, from, end - start);
  }

  add(owner: number, bytes: Uint8Array, start: number, end: number): number {
    const slot = this.#size;
    if (slot === this.#ends.length) this.#growSlots();
    const from = slot === 0 ? 0 : this.#ends[slot - 1]!;
    const to = from + end - start;
    if (to > this.#bytes.length) this.#growBytes(to);
    this.#bytes.set(bytes.subarray(start, end), from);
    this.#ends[slot] = to;
    this.#owners[slot] = owner;
    this.#hashes[slot] = this.#lastHash;
    this.#link(slot);
    this.#size++;
    return slot;
  }

  /** Keeps slots with nonzero `live`. @returns the new slot of each old one, -1 if removed */
  retain(live: Uint8Array): Int32Array {
    const renumbered = new Int32Array(this.#size).fill(NONE);
    let kept = 0;
    let end = 0;
    let from = 0;
    for (let slot = 0; slot < this.#size; slot++) {
      const to = this.#ends[slot]!;
      if (live[slot] !== 0) {
        if (from !== end) this.#bytes.copyWithin(end, from, to);
        end += to - from;
        this.#ends[kept] = end;
        this.#owners[kept] = this.#owners[slot]!;
        this.#hashes[kept] = this.#hashes[slot]!;
        renumbered[slot] = kept++;
      }
      from = to;
    }
    this.#size = kept;
    this.#relink();
    return renumbered;
  }

  truncate(size: number): void {
    if (size >= this.#size) return;
    this.#size = size;
    this.#relink();
  }

  #link(slot: number): void {
    const bucket = this.#hashes[slot]! & (this.#buckets.length - 1);
    this.#next[slot] = this.#buckets[bucket]!;
    this.#buckets[bucket] = slot;
  }

  #relink(): void {
    this.#buckets.fill(NONE);
    for (let slot = 0; slot < this.#size; slot++) this.#link(slot);
  }

  #growSlots(): void {
    const length = this.#ends.length * 2;
    this.#ends = resized(this.#ends, new Uint32Array(length));
    this.#owners = resized(this.#owners, new Int32Array(length));
    this.#hashes = resized(this.#hashes, new Int32Array(length));
    this.#next = new Int32Array(length);
    this.#buckets = new Int32Array(length);
    this.#relink();
  }

  #growBytes(needed: number): void {
    this.#bytes = resized(this.#bytes, new Uint8Array(Math.max(needed, this.#bytes.length * 2)));
    this.#view = new DataView(this.#bytes.buffer);
  }
}

function resized<T extends Int32Array | Uint32Array | Uint8Array>(from: T, into: T): T {
  into.set(from);
  return into;
}

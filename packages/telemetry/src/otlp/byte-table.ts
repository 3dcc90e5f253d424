// A bounded hash table keyed by byte ranges of foreign buffers. Look-ups don't copy or allocate.
import { equalBytes, hashBytes } from "./byte-hash.ts";
import { FieldSet } from "./field-set.ts";
import { FIRST_SLOTS, NO_SLOT, SlotIndex } from "./slot-index.ts";
import type { KeyRange } from "./byte-hash.ts";

const CHUNK_BYTES = 8_192;
/** Longer keys get their own buffer, because any key keeps its chunk alive. */
const OWN_BUFFER_BYTES = CHUNK_BYTES / 4;

interface ByteTableBounds<T> {
  /** Bytes of keys plus `charge`; evicts the least recently used. @default Infinity */
  readonly maxBytes?: number;
  /** True for a value that must not be evicted to make room. @default never */
  readonly isPinned?: (value: T) => boolean;
}

const sought = new FieldSet();
const stored = new FieldSet();

export interface KeyPlace {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

/**
 * A value and the place of its key's copy, which the table may move. One object instead of two, for hundreds
 * of thousands.
 */
export class KeyedEntry implements KeyPlace {
  bytes: Buffer;
  start: number;
  end: number;

  constructor({ bytes, start, end }: KeyPlace) {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
  }
}

/** Maximum share of wasted bytes before compaction. */
const MAX_WASTE = 1 / 8;

/**
 * LRU table keyed by (owner, part, bytes) with generations. Slots are numbers in typed arrays, so the garbage
 * collector traces nothing. A table of fields also finds a key with reordered fields, and stores the newest
 * order.
 */
export class ByteTable<T extends KeyedEntry> {
  readonly #capacity: number;
  readonly #seed: number;
  readonly #onGone: (value: T) => void;
  readonly #maxBytes: number;
  readonly #isPinned: (value: T) => boolean;
  #evictions = 0;
  #size = 0;

  /** Number of slots ever allocated, including #free. */
  #slots = 0;
  readonly #free: number[] = [];
  #values: (T | undefined)[] = [];
  #views: (DataView | undefined)[] = [];
  #owners = new Int32Array(FIRST_SLOTS);
  #parts = new Int32Array(FIRST_SLOTS);
  readonly #index = new SlotIndex();
  readonly #sets: SlotIndex | null;
  #older = new Int32Array(FIRST_SLOTS);
  #newer = new Int32Array(FIRST_SLOTS);
  #newest = NO_SLOT;
  #oldest = NO_SLOT;
  #uses = new Int32Array(FIRST_SLOTS);
  #generation = 0;

  #chunk = Buffer.alloc(0);
  #chunkView = viewOf(this.#chunk);
  #chunkUsed = 0;
  /** Bytes of keys, and of the chunks that contain them. */
  #keyBytes = 0;
  #chunkBytes = 0;
  #charged = 0;

  /**
   * @param seed secret against chosen collisions
   * @param keys `fields` for a table filled only by findInAnyOrderOrAdd
   * @param onGone called for evicted and forgotten values
   */
  constructor(
    capacity: number,
    seed: number,
    keys: "bytes" | "fields" = "bytes",
    onGone: (value: T) => void = () => undefined,
    { maxBytes = Number.POSITIVE_INFINITY, isPinned = () => false }: ByteTableBounds<T> = {},
  ) {
    this.#maxBytes = maxBytes;
    this.#isPinned = isPinned;
    this.#capacity = capacity;
    this.#seed = seed;
    this.#onGone = onGone;
    this.#sets = keys === "fields" ? new SlotIndex() : null;
  }

  get size(): number {
    return this.#size;
  }

  get evictions(): number {
    return this.#evictions;
  }

  get bytes(): number {
    return this.#keyBytes + this.#charged;
  }

  charge(bytes: number): void {
    this.#charged += bytes;
  }

  /** Whether a key of this length fits without evicting a pinned one. */
  hasRoomFor(length: number): boolean {
    if (this.#size < this.#capacity && this.bytes + length <= this.#maxBytes) return true;
    return this.#oldest === NO_SLOT || !this.#isPinned(this.#values[this.#oldest]!);
  }

  find(owner: number, part: number, key: KeyRange): T | undefined {
    const hash = hashKey(key, owner, part, this.#seed);
    const index = this.#index;
    for (let slot = index.first(hash); slot !== NO_SLOT; slot = index.after(slot)) {
      if (index.hashOf(slot) !== hash || this.#owners[slot] !== owner || this.#parts[slot] !== part) continue;
      const { start, end } = this.#values[slot]!;
      const length = key.end - key.start;
      if (end - start !== length) continue;
      if (!equalBytes(key.view, key.start, this.#views[slot]!, start, length)) continue;
      this.#uses[slot] = this.#generation;
      if (slot !== this.#newest) this.#touch(slot);
      return this.#values[slot]!;
    }
    return undefined;
  }

  /** Finds a key in any order of its fields, or adds it. Undefined: `admits` rejected it. */
  findInAnyOrderOrAdd(
    owner: number,
    part: number,
    key: KeyRange,
    admits: () => boolean,
    create: (place: KeyPlace) => T,
  ): T | undefined {
    const sets = this.#sets;
    if (sets === null) throw new Error("a table of bytes knows nothing of fields");
    sought.read(key, this.#seed);
    const setHash = sought.hash ^ Math.imul(owner, 0x9e3779b1) ^ Math.imul(part, 0x85ebca77);
    const slot = this.#findSought(sets, setHash, owner, part, key.end - key.start);
    sought.release();
    stored.release();
    if (slot !== NO_SLOT) return this.#reorder(slot, key);
    if (!admits()) return undefined;
    const value = this.add(owner, part, key, create);
    sets.link(this.#newest, setHash);
    return value;
  }

  /** The new order has equal length, because the fields are the same. */
  #reorder(slot: number, key: KeyRange): T {
    const { bytes, start } = this.#values[slot]!;
    bytes.set(key.bytes.subarray(key.start, key.end), start);
    this.#index.unlink(slot);
    this.#index.link(slot, hashKey(key, this.#owners[slot]!, this.#parts[slot]!, this.#seed));
    this.#uses[slot] = this.#generation;
    if (slot !== this.#newest) this.#touch(slot);
    return this.#values[slot]!;
  }

  /** Ends a generation and forgets keys unused in the newest `kept` ones, including this one. */
  endGeneration(kept: number): void {
    const before = this.#generation - kept;
    while (this.#oldest !== NO_SLOT && this.#uses[this.#oldest]! <= before) this.#forget(this.#oldest);
    this.#generation++;
    if (this.#chunkBytes - this.#keyBytes > CHUNK_BYTES + this.#chunkBytes * MAX_WASTE) this.#moveTogether();
  }

  #findSought(sets: SlotIndex, hash: number, owner: number, part: number, length: number): number {
    let slot = sets.first(hash);
    for (; slot !== NO_SLOT; slot = sets.after(slot)) {
      if (sets.hashOf(slot) !== hash || this.#owners[slot] !== owner || this.#parts[slot] !== part) continue;
      const { bytes, start, end } = this.#values[slot]!;
      if (end - start !== length) continue;
      stored.read({ bytes, view: this.#views[slot]!, start, end }, this.#seed);
      if (stored.hasTheFieldsOf(sought)) break;
    }
    return slot;
  }

  /** Adds a key that `find` did not find. Changes nothing if `create` throws. */
  add(owner: number, part: number, key: KeyRange, create: (place: KeyPlace) => T): T {
    const length = key.end - key.start;
    this.#makeRoom(length);
    const start = this.#reserve(length);
    const bytes = this.#chunk;
    bytes.set(key.bytes.subarray(key.start, key.end), start);
    const view = this.#chunkView;
    const value = create({ bytes, start, end: start + length });
    const hash = hashKey(key, owner, part, this.#seed);
    const slot = this.#size < this.#capacity ? this.#freshSlot() : this.#evictOldest();
    this.#keyBytes += length;
    this.#uses[slot] = this.#generation;
    this.#values[slot] = value;
    this.#views[slot] = view;
    this.#owners[slot] = owner;
    this.#parts[slot] = part;
    this.#index.link(slot, hash);
    this.#linkNewest(slot);
    return value;
  }

  #makeRoom(length: number): void {
    while (this.bytes + length > this.#maxBytes && this.#oldest !== NO_SLOT) {
      if (this.#isPinned(this.#values[this.#oldest]!)) break;
      this.#forget(this.#oldest);
      this.#evictions++;
    }
    // A surviving key keeps its whole chunk, so waste can equal the live bytes.
    if (this.#chunkBytes > CHUNK_BYTES + 2 * this.#maxBytes) this.#moveTogether();
  }

  #reserve(length: number): number {
    if (this.#chunkUsed + length > this.#chunk.length) {
      this.#chunk = Buffer.allocUnsafeSlow(length > OWN_BUFFER_BYTES ? length : CHUNK_BYTES);
      this.#chunkView = viewOf(this.#chunk);
      this.#chunkBytes += this.#chunk.length;
      this.#chunkUsed = 0;
    }
    const start = this.#chunkUsed;
    this.#chunkUsed += length;
    return start;
  }

  #freshSlot(): number {
    this.#size++;
    const free = this.#free.pop();
    if (free !== undefined) return free;
    if (this.#slots === this.#owners.length) this.#grow();
    return this.#slots++;
  }

  #evictOldest(): number {
    const slot = this.#oldest;
    this.#remove(slot);
    this.#evictions++;
    return slot;
  }

  #forget(slot: number): void {
    this.#remove(slot);
    this.#values[slot] = undefined;
    this.#views[slot] = undefined;
    this.#free.push(slot);
    this.#size--;
  }

  #remove(slot: number): void {
    const value = this.#values[slot]!;
    this.#keyBytes -= value.end - value.start;
    this.#unlink(slot);
    this.#index.unlink(slot);
    this.#sets?.unlink(slot);
    this.#onGone(value);
  }

  #moveTogether(): void {
    this.#chunk = Buffer.alloc(0);
    this.#chunkUsed = 0;
    this.#chunkBytes = 0;
    for (let slot = this.#oldest; slot !== NO_SLOT; slot = this.#newer[slot]!) {
      const copy = this.#values[slot]!;
      const { bytes, start, end } = copy;
      const at = this.#reserve(end - start);
      this.#chunk.set(bytes.subarray(start, end), at);
      copy.bytes = this.#chunk;
      copy.start = at;
      copy.end = at + end - start;
      this.#views[slot] = this.#chunkView;
    }
  }

  #touch(slot: number): void {
    this.#unlink(slot);
    this.#linkNewest(slot);
  }

  #unlink(slot: number): void {
    const older = this.#older[slot]!;
    const newer = this.#newer[slot]!;
    if (older === NO_SLOT) this.#oldest = newer;
    else this.#newer[older] = newer;
    if (newer === NO_SLOT) this.#newest = older;
    else this.#older[newer] = older;
  }

  #linkNewest(slot: number): void {
    this.#older[slot] = this.#newest;
    this.#newer[slot] = NO_SLOT;
    if (this.#newest === NO_SLOT) this.#oldest = slot;
    else this.#newer[this.#newest] = slot;
    this.#newest = slot;
  }

  #grow(): void {
    const length = this.#owners.length * 2;
    this.#owners = resized(this.#owners, length);
    this.#parts = resized(this.#parts, length);
    this.#older = resized(this.#older, length);
    this.#newer = resized(this.#newer, length);
    this.#uses = resized(this.#uses, length);
    // Growth happens only without free slots, so each slot has a key.
    this.#index.grow(length, this.#slots);
    this.#sets?.grow(length, this.#slots);
  }
}

function resized(from: Int32Array, length: number): Int32Array<ArrayBuffer> {
  const into = new Int32Array(length);
  into.set(from);
  return into;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function hashKey({ view, start, end }: KeyRange, owner: number, part: number, seed: number): number {
  return hashBytes(view, start, end, Math.imul(owner ^ seed, 0x9e3779b1) ^ Math.imul(part, 0x85ebca77));
}

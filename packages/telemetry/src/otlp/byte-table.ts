// A bounded hash table whose keys are byte ranges of somebody else's buffer. Looking up copies and allocates
// nothing.
import { equalBytes, hashBytes } from "./byte-hash.ts";
import { FieldSet } from "./field-set.ts";
import { FIRST_SLOTS, NO_SLOT, SlotIndex } from "./slot-index.ts";
import type { KeyRange } from "./byte-hash.ts";

const CHUNK_BYTES = 8_192;
/** Longer keys get a buffer of their own: a chunk lives as long as any key in it. */
const OWN_BUFFER_BYTES = CHUNK_BYTES / 4;

/** What bounds a table beyond the number of its keys. */
interface ByteTableBounds<T> {
  /** Bytes of all keys, with what `charge` adds; beyond it the least recently used go. @default Infinity */
  readonly maxBytes?: number;
  /** True for a value that others depend on: it is not evicted to make room. @default none is */
  readonly isPinned?: (value: T) => boolean;
}

/** Fields of keys that are looked for in another order. */
const sought = new FieldSet();
const stored = new FieldSet();

/** Where a stored copy of a key lies. */
export interface KeyPlace {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

/**
 * What a table holds for a key, with the place of the key's copy, which the table may move while it holds it.
 * One object and not two: there are hundreds of thousands.
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

/** Copies are put together again when more than this part of their chunks is of keys that are gone. */
const MAX_WASTE = 1 / 8;

/**
 * Values by (owner, part, range of bytes), least recently used evicted, and those forgotten that nobody asks
 * for any more. Slots are numbers, and their links are typed arrays: a touch moves no object, so that the
 * garbage collector has nothing to trace. Owner and part are 32-bit integers that distinguish keys of equal
 * bytes.
 *
 * A table whose keys are fields one after the other can find one whose fields come in another order, too.
 * That takes no second entry: the key is kept in the order in which it came last.
 */
export class ByteTable<T extends KeyedEntry> {
  readonly #capacity: number;
  readonly #seed: number;
  readonly #onGone: (value: T) => void;
  readonly #maxBytes: number;
  readonly #isPinned: (value: T) => boolean;
  #evictions = 0;
  #size = 0;

  /** Slots that were ever given out; those of #free are without a key. */
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
  /** By slot, the generation that its key was used in last. */
  #uses = new Int32Array(FIRST_SLOTS);
  #generation = 0;

  #chunk = Buffer.alloc(0);
  #chunkView = viewOf(this.#chunk);
  #chunkUsed = 0;
  /** Bytes of keys, and of all chunks that any of them is in. */
  #keyBytes = 0;
  #chunkBytes = 0;
  /** Bytes that the values hold elsewhere. */
  #charged = 0;

  /**
   * @param seed makes collisions unpredictable for who doesn't know it
   * @param keys `fields` for a table that is filled by findInAnyOrderOrAdd alone
   * @param onGone told of what was evicted or forgotten
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

  /** Bytes of all keys, with what was charged. */
  get bytes(): number {
    return this.#keyBytes + this.#charged;
  }

  /** Counts bytes that a value holds elsewhere; below 0 when it lets go of them. */
  charge(bytes: number): void {
    this.#charged += bytes;
  }

  /** False when a key of so many bytes could only be added in the place of a pinned one. */
  hasRoomFor(length: number): boolean {
    if (this.#size < this.#capacity && this.bytes + length <= this.#maxBytes) return true;
    return this.#oldest === NO_SLOT || !this.#isPinned(this.#values[this.#oldest]!);
  }

  /** The value of the key, which becomes the most recently used one. */
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

  /**
   * As `add`, of a table of fields, unless there is a key with the same fields in another order. Undefined
   * when `admits` says that a new key must not be added.
   */
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
    // They must not keep a record alive.
    sought.release();
    stored.release();
    if (slot !== NO_SLOT) return this.#reorder(slot, key);
    if (!admits()) return undefined;
    const value = this.add(owner, part, key, create);
    sets.link(this.#newest, setHash);
    return value;
  }

  /**
   * What comes in another order from now on is found by its bytes again: as many, because they are the same
   * fields.
   */
  #reorder(slot: number, key: KeyRange): T {
    const { bytes, start } = this.#values[slot]!;
    bytes.set(key.bytes.subarray(key.start, key.end), start);
    this.#index.unlink(slot);
    this.#index.link(slot, hashKey(key, this.#owners[slot]!, this.#parts[slot]!, this.#seed));
    this.#uses[slot] = this.#generation;
    if (slot !== this.#newest) this.#touch(slot);
    return this.#values[slot]!;
  }

  /**
   * Ends a generation: keys that were not used in the newest `kept` ones, this one included, are forgotten.
   */
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

  /**
   * Adds what `create` makes of the stored copy of a key that `find` did not find. When `create` throws,
   * nothing changes.
   */
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
    // One key that stays keeps its whole chunk: what was evicted since they were put together may be as much
    // as is left.
    if (this.#chunkBytes > CHUNK_BYTES + 2 * this.#maxBytes) this.#moveTogether();
  }

  /** Room for a key in the current chunk; `#chunkUsed` moves past it. */
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

  /** Copies all keys into new chunks: one key that stays would keep a whole chunk of others that are gone. */
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
    // It grows only when no slot is free: each of them has a key.
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

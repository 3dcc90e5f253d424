// A bounded hash table whose keys are byte ranges of somebody else's buffer. Looking up copies and allocates nothing.

const CHUNK_BYTES = 8_192;
/** Longer keys get a buffer of their own: a chunk lives as long as any key in it. */
const OWN_BUFFER_BYTES = CHUNK_BYTES / 4;
const FIRST_SLOTS = 64;
const NONE = -1;

/** Bytes to look up, wherever they lie. */
export interface KeyRange {
  readonly bytes: Uint8Array;
  /** Of the same memory as `bytes`. */
  readonly view: DataView;
  readonly start: number;
  readonly end: number;
}

/** Where a stored copy of a key lies. */
export interface KeyCopy {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

/**
 * Values by (owner, part, range of bytes), least recently used evicted. Slots are numbers, and their links are typed arrays:
 * a touch moves no object, so that the garbage collector has nothing to trace. Owner and part are 32-bit integers that
 * distinguish keys of equal bytes.
 */
export class ByteTable<T> {
  readonly #capacity: number;
  readonly #seed: number;
  #evictions = 0;
  #size = 0;

  #values: T[] = [];
  #copies: KeyCopy[] = [];
  #views: DataView[] = [];
  #owners = new Int32Array(FIRST_SLOTS);
  #parts = new Int32Array(FIRST_SLOTS);
  #hashes = new Int32Array(FIRST_SLOTS);
  #next = new Int32Array(FIRST_SLOTS);
  #older = new Int32Array(FIRST_SLOTS);
  #newer = new Int32Array(FIRST_SLOTS);
  #buckets = new Int32Array(FIRST_SLOTS).fill(NONE);
  #newest = NONE;
  #oldest = NONE;

  #chunk = Buffer.alloc(0);
  #chunkView = viewOf(this.#chunk);
  #chunkUsed = 0;

  /** @param seed makes collisions unpredictable for who doesn't know it */
  constructor(capacity: number, seed: number) {
    this.#capacity = capacity;
    this.#seed = seed;
  }

  get size(): number {
    return this.#size;
  }

  get evictions(): number {
    return this.#evictions;
  }

  /** The value of the key, which becomes the most recently used one. */
  find(owner: number, part: number, key: KeyRange): T | undefined {
    const hash = hashKey(key, owner, part, this.#seed);
    for (
      let slot = this.#buckets[hash & (this.#buckets.length - 1)]!;
      slot !== NONE;
      slot = this.#next[slot]!
    ) {
      if (this.#hashes[slot] !== hash || this.#owners[slot] !== owner || this.#parts[slot] !== part) continue;
      const copy = this.#copies[slot]!;
      if (!equalBytes(key, copy, this.#views[slot]!)) continue;
      if (slot !== this.#newest) this.#touch(slot);
      return this.#values[slot]!;
    }
    return undefined;
  }

  /** Adds what `create` makes of the stored copy of a key that `find` did not find. When `create` throws, nothing changes. */
  add(owner: number, part: number, key: KeyRange, create: (copy: KeyCopy) => T): T {
    const start = this.#reserve(key.end - key.start);
    const copy: KeyCopy = { bytes: this.#chunk, start, end: start + key.end - key.start };
    copy.bytes.set(key.bytes.subarray(key.start, key.end), start);
    const view = this.#chunkView;
    const value = create(copy);
    const hash = hashKey(key, owner, part, this.#seed);
    const slot = this.#size < this.#capacity ? this.#freshSlot() : this.#evictOldest();
    this.#values[slot] = value;
    this.#copies[slot] = copy;
    this.#views[slot] = view;
    this.#owners[slot] = owner;
    this.#parts[slot] = part;
    this.#hashes[slot] = hash;
    const bucket = hash & (this.#buckets.length - 1);
    this.#next[slot] = this.#buckets[bucket]!;
    this.#buckets[bucket] = slot;
    this.#linkNewest(slot);
    return value;
  }

  /** Room for a key in the current chunk; `#chunkUsed` moves past it. */
  #reserve(length: number): number {
    if (this.#chunkUsed + length > this.#chunk.length) {
      this.#chunk = Buffer.allocUnsafeSlow(length > OWN_BUFFER_BYTES ? length : CHUNK_BYTES);
      this.#chunkView = viewOf(this.#chunk);
      this.#chunkUsed = 0;
    }
    const start = this.#chunkUsed;
    this.#chunkUsed += length;
    return start;
  }

  #freshSlot(): number {
    if (this.#size === this.#hashes.length) this.#grow();
    return this.#size++;
  }

  #evictOldest(): number {
    const slot = this.#oldest;
    this.#unlink(slot);
    const bucket = this.#hashes[slot]! & (this.#buckets.length - 1);
    if (this.#buckets[bucket] === slot) this.#buckets[bucket] = this.#next[slot]!;
    else {
      let before = this.#buckets[bucket]!;
      while (this.#next[before] !== slot) before = this.#next[before]!;
      this.#next[before] = this.#next[slot]!;
    }
    this.#evictions++;
    return slot;
  }

  #touch(slot: number): void {
    this.#unlink(slot);
    this.#linkNewest(slot);
  }

  #unlink(slot: number): void {
    const older = this.#older[slot]!;
    const newer = this.#newer[slot]!;
    if (older === NONE) this.#oldest = newer;
    else this.#newer[older] = newer;
    if (newer === NONE) this.#newest = older;
    else this.#older[newer] = older;
  }

  #linkNewest(slot: number): void {
    this.#older[slot] = this.#newest;
    this.#newer[slot] = NONE;
    if (this.#newest === NONE) this.#oldest = slot;
    else this.#newer[this.#newest] = slot;
    this.#newest = slot;
  }

  #grow(): void {
    const length = this.#hashes.length * 2;
    this.#owners = resized(this.#owners, length);
    this.#parts = resized(this.#parts, length);
    this.#hashes = resized(this.#hashes, length);
    this.#next = new Int32Array(length);
    this.#older = resized(this.#older, length);
    this.#newer = resized(this.#newer, length);
    this.#buckets = new Int32Array(length).fill(NONE);
    for (let slot = 0; slot < this.#size; slot++) {
      const bucket = this.#hashes[slot]! & (length - 1);
      this.#next[slot] = this.#buckets[bucket]!;
      this.#buckets[bucket] = slot;
    }
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

/** MurmurHash3 (32 bit) over words, with its tail and finaliser. */
function hashKey(key: KeyRange, owner: number, part: number, seed: number): number {
  const { view, start, end } = key;
  let hash = Math.imul(owner ^ seed, 0x9e3779b1) ^ Math.imul(part, 0x85ebca77);
  let at = start;
  for (; at + 4 <= end; at += 4) {
    const word = Math.imul(view.getInt32(at, true), 0xcc9e2d51);
    hash ^= Math.imul((word << 15) | (word >>> 17), 0x1b873593);
    hash = Math.imul((hash << 13) | (hash >>> 19), 5) + 0xe6546b64;
  }
  let tail = 0;
  for (let shift = 0; at < end; at++, shift += 8) tail |= view.getUint8(at) << shift;
  tail = Math.imul(tail, 0xcc9e2d51);
  hash ^= Math.imul((tail << 15) | (tail >>> 17), 0x1b873593);
  hash ^= end - start;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) | 0;
}

function equalBytes(key: KeyRange, copy: KeyCopy, b: DataView): boolean {
  const a = key.view;
  const aStart = key.start;
  const bStart = copy.start;
  const length = key.end - aStart;
  if (length !== copy.end - bStart) return false;
  let at = 0;
  for (; at + 4 <= length; at += 4) {
    if (a.getInt32(aStart + at, true) !== b.getInt32(bStart + at, true)) return false;
  }
  for (; at < length; at++) {
    if (a.getUint8(aStart + at) !== b.getUint8(bStart + at)) return false;
  }
  return true;
}

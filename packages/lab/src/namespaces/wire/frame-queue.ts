/** Priority queue of frames with preallocated bytes and a heap; no allocation per frame. */
export class FrameQueue {
  readonly capacity: number;
  readonly frameBytes: number;
  /** The frame in slot s begins at s * frameBytes. */
  readonly bytes: Buffer;
  readonly #lengths: Uint16Array;
  readonly #targets: Uint16Array;
  readonly #packets: Float64Array;
  readonly #dueMs: Float64Array;
  readonly #sequence: Float64Array;
  /** Slots: a binary heap of waiting frames, then the free ones. */
  readonly #slots: Int32Array;
  #size = 0;
  #added = 0;

  constructor(capacity: number, frameBytes: number) {
    this.capacity = capacity;
    this.frameBytes = frameBytes;
    this.bytes = Buffer.alloc(capacity * frameBytes);
    this.#lengths = new Uint16Array(capacity);
    this.#targets = new Uint16Array(capacity);
    this.#packets = new Float64Array(capacity);
    this.#dueMs = new Float64Array(capacity);
    this.#sequence = new Float64Array(capacity);
    this.#slots = Int32Array.from({ length: capacity }, (_, slot) => slot);
  }

  get size(): number {
    return this.#size;
  }

  get nextDueMs(): number {
    return this.#size === 0 ? Infinity : this.#dueMs[this.#slots[0]!]!;
  }

  freeSlot(): number {
    return this.#size === this.capacity ? -1 : this.#slots[this.#size]!;
  }

  add(dueMs: number, length: number, target: number, packet: number): void {
    const slot = this.#slots[this.#size]!;
    this.#lengths[slot] = length;
    this.#targets[slot] = target;
    this.#packets[slot] = packet;
    this.#dueMs[slot] = dueMs;
    this.#sequence[slot] = this.#added++;
    this.#rise(this.#size++);
  }

  /** Removes the frame that is due first; its slot stays valid until the next `freeSlot`. -1: empty. */
  take(): number {
    if (this.#size === 0) return -1;
    const slots = this.#slots;
    const first = slots[0]!;
    this.#size--;
    slots[0] = slots[this.#size]!;
    slots[this.#size] = first;
    this.#sink();
    return first;
  }

  lengthOf(slot: number): number {
    return this.#lengths[slot]!;
  }

  targetOf(slot: number): number {
    return this.#targets[slot]!;
  }

  packetOf(slot: number): number {
    return this.#packets[slot]!;
  }

  dueMsOf(slot: number): number {
    return this.#dueMs[slot]!;
  }

  #rise(from: number): void {
    const slots = this.#slots;
    const slot = slots[from]!;
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#isBefore(slot, slots[parent]!)) break;
      slots[at] = slots[parent]!;
      at = parent;
    }
    slots[at] = slot;
  }

  #sink(): void {
    const slots = this.#slots;
    const slot = slots[0]!;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= this.#size) break;
      if (child + 1 < this.#size && this.#isBefore(slots[child + 1]!, slots[child]!)) child++;
      if (!this.#isBefore(slots[child]!, slot)) break;
      slots[at] = slots[child]!;
      at = child;
    }
    slots[at] = slot;
  }

  #isBefore(a: number, b: number): boolean {
    const difference = this.#dueMs[a]! - this.#dueMs[b]!;
    return difference < 0 || (difference === 0 && this.#sequence[a]! < this.#sequence[b]!);
  }
}

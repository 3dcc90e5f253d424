export const SEQUENCE_BITMAP_BITS = 4_096;
const WORDS = SEQUENCE_BITMAP_BITS / 32;
/** Epochs remembered per source: records of the previous one may still be in transit. */
const EPOCHS_PER_SOURCE = 2;

interface SequenceTrackerOptions {
  /** Maximum sources; evicts the least recently used. @default 16384 */
  readonly maxSources?: number;
}

/** Bitmap over the sequences (highest - 4096, highest]; sequence s has bit s modulo 4096. */
class EpochBitmap {
  readonly epoch: string;
  readonly #first: number;
  readonly #seen = new Uint32Array(WORDS);
  #highest: number;
  #open = 0;

  constructor(epoch: string, sequence: number) {
    this.epoch = epoch;
    this.#first = sequence;
    this.#highest = sequence;
    this.#mark(sequence);
  }

  get open(): number {
    return this.#open;
  }

  /** Returns the number of newly missing sequences, or -1 for a duplicate. */
  observe(sequence: number): number {
    if (sequence > this.#highest) return this.#advance(sequence);
    if (sequence <= this.#highest - SEQUENCE_BITMAP_BITS || this.#isMarked(sequence)) return -1;
    this.#mark(sequence);
    if (sequence > this.#first) this.#open--;
    return 0;
  }

  #advance(sequence: number): number {
    const jump = sequence - this.#highest;
    let missing = 0;
    if (jump >= SEQUENCE_BITMAP_BITS) {
      // All remembered sequences leave the bitmap, with the part of the gap beyond it.
      missing = this.#open + (jump - SEQUENCE_BITMAP_BITS);
      this.#seen.fill(0);
      this.#open = SEQUENCE_BITMAP_BITS - 1;
    } else {
      for (let next = this.#highest + 1; next <= sequence; next++) {
        const leaving = next - SEQUENCE_BITMAP_BITS;
        if (leaving > this.#first && !this.#isMarked(leaving)) {
          missing++;
          this.#open--;
        }
        this.#unmark(next);
      }
      this.#open += jump - 1;
    }
    this.#highest = sequence;
    this.#mark(sequence);
    return missing;
  }

  #isMarked(sequence: number): boolean {
    const bit = sequence % SEQUENCE_BITMAP_BITS;
    return (this.#seen[bit >>> 5]! & (1 << (bit & 31))) !== 0;
  }

  #mark(sequence: number): void {
    const bit = sequence % SEQUENCE_BITMAP_BITS;
    this.#seen[bit >>> 5]! |= 1 << (bit & 31);
  }

  #unmark(sequence: number): void {
    const bit = sequence % SEQUENCE_BITMAP_BITS;
    this.#seen[bit >>> 5]! &= ~(1 << (bit & 31));
  }
}

/**
 * Detects duplicates and losses by publishers' sequences. Records before the first one seen of an epoch don't
 * count as missing.
 */
export class SequenceTracker {
  readonly #maxSources: number;
  readonly #sources = new Map<string, EpochBitmap[]>();
  #missing = 0;

  constructor(options: SequenceTrackerOptions = {}) {
    const maxSources = options.maxSources ?? 16_384;
    if (!(Number.isSafeInteger(maxSources) && maxSources > 0)) {
      throw new RangeError(`maxSources must be a positive integer, got ${maxSources}`);
    }
    this.#maxSources = maxSources;
  }

  /** Number of skipped sequences that left the bitmap or lost their epoch. Monotonic. */
  get missing(): number {
    return this.#missing;
  }

  get outstanding(): number {
    let open = 0;
    for (const epochs of this.#sources.values()) for (const bitmap of epochs) open += bitmap.open;
    return open;
  }

  get sources(): number {
    return this.#sources.size;
  }

  /**
   * A sequence 4,096 or more behind the highest counts as a duplicate.
   * @throws RangeError unless `sequence` is an integer of 0 .. 2^53 - 1
   */
  observe(source: string, epoch: string, sequence: number): "new" | "duplicate" {
    if (!(Number.isSafeInteger(sequence) && sequence >= 0)) {
      throw new RangeError(`sequence must be an integer of 0 .. 2^53 - 1, got ${sequence}`);
    }
    const epochs = this.#touch(source);
    const bitmap = epochs.find((candidate) => candidate.epoch === epoch);
    if (bitmap === undefined) {
      epochs.unshift(new EpochBitmap(epoch, sequence));
      if (epochs.length > EPOCHS_PER_SOURCE) this.#missing += epochs.pop()!.open;
      return "new";
    }
    const missing = bitmap.observe(sequence);
    if (missing < 0) return "duplicate";
    this.#missing += missing;
    return "new";
  }

  #touch(source: string): EpochBitmap[] {
    const known = this.#sources.get(source);
    if (known !== undefined) {
      this.#sources.delete(source);
      this.#sources.set(source, known);
      return known;
    }
    const [oldest] = this.#sources;
    if (oldest !== undefined && this.#sources.size >= this.#maxSources) {
      for (const bitmap of oldest[1]) this.#missing += bitmap.open;
      this.#sources.delete(oldest[0]);
    }
    const epochs: EpochBitmap[] = [];
    this.#sources.set(source, epochs);
    return epochs;
  }
}

/** Sequences that are remembered per (source, epoch). */
export const SEQUENCE_BITMAP_BITS = 4_096;
const WORDS = SEQUENCE_BITMAP_BITS / 32;
/** A restarted source may still have records of its former life under way. */
const EPOCHS_PER_SOURCE = 2;

/** @see SequenceTracker */
interface SequenceTrackerOptions {
  /** Beyond this many sources the least recently used is forgotten. @default 16384 */
  readonly maxSources?: number;
}

/** Bitmap over the sequences (highest - 4096, highest]; bit of sequence s is s modulo 4096. */
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

  /** Skipped sequences that may still come. */
  get open(): number {
    return this.#open;
  }

  /** How many sequences became definitely missing, or -1 for a duplicate. */
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
      // Everything remembered leaves, and the part of the gap that the bitmap can't hold is lost with it.
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
 * Tells repeated records from new ones by the sequences that their publishers stamped, and counts those that
 * never came. What came before the first record that was seen of an epoch is not counted as missing: nobody
 * knows whether it was.
 */
export class SequenceTracker {
  readonly #maxSources: number;
  /** By source, least recently used first; epochs of one source newest first. */
  readonly #sources = new Map<string, EpochBitmap[]>();
  #missing = 0;

  constructor(options: SequenceTrackerOptions = {}) {
    const maxSources = options.maxSources ?? 16_384;
    if (!(Number.isSafeInteger(maxSources) && maxSources > 0)) {
      throw new RangeError(`maxSources must be a positive integer, got ${maxSources}`);
    }
    this.#maxSources = maxSources;
  }

  /**
   * Sequences that were skipped and did not come before they left the bitmap, or before their epoch was
   * forgotten. Only grows.
   */
  get missing(): number {
    return this.#missing;
  }

  /** Sequences that were skipped and may still come. */
  get outstanding(): number {
    let open = 0;
    for (const epochs of this.#sources.values()) for (const bitmap of epochs) open += bitmap.open;
    return open;
  }

  /** How many sources are remembered. */
  get sources(): number {
    return this.#sources.size;
  }

  /**
   * Notes a record. A sequence that lies 4,096 or more behind the highest of its epoch is taken for a repeat.
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

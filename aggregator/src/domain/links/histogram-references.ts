import type { HistogramChunk } from "./packed-histograms.ts";

/** More than any chunk has bytes. */
const MAX_OFFSETS = 2 ** 24;

/**
 * Packed histograms by number: who keeps a million of them keeps one number of each, and no object. A chunk
 * is let go with the last reference into it.
 */
export class HistogramReferences {
  /** By chunk number. The first is never given out, so that every reference is more than 0. */
  readonly #chunks: (HistogramChunk | null)[] = [null];
  /** Holders by chunk number. */
  readonly #holders: number[] = [0];
  readonly #free: number[] = [];
  readonly #numbers = new Map<HistogramChunk, number>();

  /** Chunks that are kept. */
  get chunks(): number {
    return this.#numbers.size;
  }

  /** Keeps the histogram at `at` until its reference is released. @returns the reference, a number above 0 */
  hold(chunk: HistogramChunk, at: number): number {
    const number = this.#numbers.get(chunk) ?? this.#register(chunk);
    this.#holders[number]!++;
    return number * MAX_OFFSETS + at;
  }

  release(reference: number): void {
    const number = Math.floor(reference / MAX_OFFSETS);
    if (--this.#holders[number]! > 0) return;
    this.#numbers.delete(this.#chunks[number]!);
    this.#chunks[number] = null;
    this.#free.push(number);
  }

  chunkOf(reference: number): HistogramChunk {
    return this.#chunks[Math.floor(reference / MAX_OFFSETS)]!;
  }

  /** Where in its chunk. */
  placeOf(reference: number): number {
    return reference % MAX_OFFSETS;
  }

  #register(chunk: HistogramChunk): number {
    const number = this.#free.pop() ?? this.#chunks.length;
    this.#chunks[number] = chunk;
    this.#holders[number] = 0;
    this.#numbers.set(chunk, number);
    return number;
  }
}

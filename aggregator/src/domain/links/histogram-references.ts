import type { HistogramChunk } from "./packed-histograms.ts";

const MAX_OFFSETS = 2 ** 24;

/** Numeric references to packed histograms. A chunk is freed with its last reference. */
export class HistogramReferences {
  /** Chunks by number. Chunk 0 is unused, so that every reference is above 0. */
  readonly #chunks: (HistogramChunk | null)[] = [null];
  readonly #holders: number[] = [0];
  readonly #free: number[] = [];
  readonly #numbers = new Map<HistogramChunk, number>();

  get chunks(): number {
    return this.#numbers.size;
  }

  /** @returns the reference, above 0; release it to free the histogram */
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

import type { KeyRange } from "./byte-hash.ts";

const FIRST_CAPACITY = 1_024;

/** Joins byte ranges to one key. */
export class Scratch implements KeyRange {
  bytes = new Uint8Array(FIRST_CAPACITY);
  view = new DataView(this.bytes.buffer);
  readonly start = 0;
  end = 0;

  clear(): void {
    this.end = 0;
  }

  append(from: Uint8Array, start: number, end: number): void {
    const needed = this.end + end - start;
    if (needed > this.bytes.length) {
      const grown = new Uint8Array(needed * 2);
      grown.set(this.bytes.subarray(0, this.end));
      this.bytes = grown;
      this.view = new DataView(grown.buffer);
    }
    this.bytes.set(from.subarray(start, end), this.end);
    this.end = needed;
  }
}

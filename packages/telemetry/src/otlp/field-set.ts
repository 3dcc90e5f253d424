import type { KeyRange } from "./byte-hash.ts";
import { equalBytes, hashBytes } from "./byte-hash.ts";

/** The fields of a key in any order. Reused for each key. */
export class FieldSet {
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  readonly #hashes: number[] = [];
  readonly #taken: boolean[] = [];
  #view: DataView | null = null;
  #count = 0;
  #hash = 0;

  get hash(): number {
    return this.#hash;
  }

  /** @param key checked length-delimited fields in sequence */
  read({ bytes, view, start, end }: KeyRange, seed: number): void {
    this.#view = view;
    this.#count = 0;
    this.#hash = 0;
    for (let at = start; at < end; this.#count++) {
      const fieldStart = at;
      while (bytes[at]! >= 0x80) at++;
      at++;
      let length = 0;
      let shift = 0;
      for (; bytes[at]! >= 0x80; at++, shift += 7) length += (bytes[at]! & 0x7f) * 2 ** shift;
      length += bytes[at]! * 2 ** shift;
      at += 1 + length;
      const hash = hashBytes(view, fieldStart, at, seed);
      this.#starts[this.#count] = fieldStart;
      this.#ends[this.#count] = at;
      this.#hashes[this.#count] = hash;
      this.#hash = (this.#hash + hash) | 0;
    }
  }

  release(): void {
    this.#view = null;
  }

  hasTheFieldsOf(other: FieldSet): boolean {
    if (this.#count !== other.#count) return false;
    for (let i = 0; i < this.#count; i++) this.#taken[i] = false;
    for (let theirs = 0; theirs < other.#count; theirs++) if (!this.#takeField(other, theirs)) return false;
    return true;
  }

  #takeField(other: FieldSet, theirs: number): boolean {
    const start = other.#starts[theirs]!;
    const length = other.#ends[theirs]! - start;
    for (let own = 0; own < this.#count; own++) {
      if (this.#taken[own] || this.#hashes[own] !== other.#hashes[theirs]) continue;
      if (this.#ends[own]! - this.#starts[own]! !== length) continue;
      if (!equalBytes(this.#view!, this.#starts[own]!, other.#view!, start, length)) continue;
      this.#taken[own] = true;
      return true;
    }
    return false;
  }
}

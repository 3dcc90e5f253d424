import { BYTE } from "./bytes.ts";
import type { LabelSet } from "./label-set.ts";
import type { LabelShape } from "./label-shape.ts";

const FIRST_CAPACITY = 1_024;

/** Writes labels in canonical order as on a plain line; this text identifies a row. */
export class CanonicalText {
  bytes = new Uint8Array(FIRST_CAPACITY);
  view = new DataView(this.bytes.buffer);
  end = 0;

  of(labels: LabelSet, { order, encodedNames }: LabelShape, bytes: Uint8Array): this {
    this.end = 0;
    let before: number = BYTE.openBrace;
    for (const position of order) {
      const name = encodedNames[position]!;
      const start = labels.valueStart(position);
      const end = labels.valueEnd(position);
      this.#reserve(name.length + end - start + 3);
      this.bytes[this.end++] = before;
      this.bytes.set(name, this.end);
      this.bytes.set(bytes.subarray(start, end), this.end + name.length);
      this.end += name.length + end - start;
      this.bytes[this.end++] = BYTE.quote;
      before = BYTE.comma;
    }
    if (this.end > 0) this.bytes[this.end++] = BYTE.closeBrace;
    return this;
  }

  #reserve(more: number): void {
    const needed = this.end + more;
    if (needed <= this.bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, this.bytes.length * 2));
    grown.set(this.bytes.subarray(0, this.end));
    this.bytes = grown;
    this.view = new DataView(grown.buffer);
  }
}

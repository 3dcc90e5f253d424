/** As in SequenceTracker: what lies so far behind the highest sequence is taken for a repeat. */
export const REMEMBERED_SEQUENCES = 4096;

/** Sequences of one epoch as ranges. Publishers count by one, so there are few. */
export class SequenceRanges {
  /** Starts and ends (inclusive) by turns, ascending, no two ranges adjacent. */
  #bounds: number[] = [];

  /** The highest; -1 when there is none. */
  get highest(): number {
    return this.#bounds.at(-1) ?? -1;
  }

  /** True for what was added, or is too old to tell. */
  has(sequence: number): boolean {
    if (sequence <= this.highest - REMEMBERED_SEQUENCES) return true;
    const bounds = this.#bounds;
    for (let i = bounds.length - 2; i >= 0; i -= 2)
      if (sequence >= bounds[i]!) return sequence <= bounds[i + 1]!;
    return false;
  }

  /** Adds all sequences of from..to. */
  add(from: number, to: number = from): void {
    const bounds = this.#bounds;
    const last = bounds.length - 1;
    if (last < 0 || from > bounds[last]! + 1) bounds.push(from, to);
    else if (from === bounds[last]! + 1) bounds[last] = to;
    else this.#insert(from, to);
    if (bounds.length > 2) this.#forget();
  }

  /** From-to pairs, ascending. */
  pairs(): [from: number, to: number][] {
    const pairs: [number, number][] = [];
    for (let i = 0; i < this.#bounds.length; i += 2) pairs.push([this.#bounds[i]!, this.#bounds[i + 1]!]);
    return pairs;
  }

  /** Merges a range with those that it touches. */
  #insert(from: number, to: number): void {
    const before = this.pairs();
    const apart = before.filter(([start, end]) => end < from - 1 || start > to + 1);
    const touched = before.filter(([start, end]) => !(end < from - 1 || start > to + 1));
    const merged: [number, number] = [
      Math.min(from, ...touched.map(([start]) => start)),
      Math.max(to, ...touched.map(([, end]) => end)),
    ];
    const all = [...apart, merged].sort((a, b) => a[0] - b[0]);
    this.#bounds = all.flat();
  }

  /** What `has` says of a range that is too old is true without it. */
  #forget(): void {
    const oldest = this.highest - REMEMBERED_SEQUENCES;
    let gone = 0;
    while (gone + 2 < this.#bounds.length && this.#bounds[gone + 1]! <= oldest) gone += 2;
    if (gone > 0) this.#bounds.splice(0, gone);
  }
}

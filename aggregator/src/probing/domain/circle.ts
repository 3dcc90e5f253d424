/**
 * A hash of a hash: 53 bits that look unrelated for each `salt`. Finalizers of MurmurHash3 by Austin Appleby,
 * public domain; ten times as fast as hashing a text once more.
 *
 * @param hash a whole number from 0 to 2^53 - 1
 * @param salt any whole number; its low 32 bits count
 */
export function remix(hash: number, salt: number): number {
  const spread = Math.imul(salt ^ 0x9e3779b9, 0x85ebca6b);
  const low = finalize((hash >>> 0) ^ spread);
  const high = finalize(Math.floor(hash / 4_294_967_296) ^ Math.imul(low, 0xc2b2ae35) ^ spread);
  return 4_294_967_296 * (high & 2_097_151) + finalize(low ^ high);
}

function finalize(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

/**
 * Numbers of the hashes, in the order of the hashes; of equal ones in the order of their numbers. Hash and
 * number are packed in one number, as native sorting of numbers takes a tenth of the time that a comparator
 * takes.
 *
 * @param hashes whole numbers from 0 to 2^53 - 1
 */
export function orderOf(hashes: Float64Array): Int32Array {
  const count = hashes.length;
  const keys = new Float64Array(count);
  // Halved, as the sum must stay exact at the upper end too.
  for (let place = 0; place < count; place++) {
    keys[place] = Math.floor(hashes[place]! / (2 * count)) * count + place;
  }
  keys.sort();
  const order = new Int32Array(count);
  for (let rank = 0; rank < count; rank++) order[rank] = keys[rank]! % count;
  return order;
}

/**
 * Places on a circle in the order of their hashes. Whoever comes or goes changes only what its neighbours
 * see. Places are numbered as their hashes are given; equal hashes are in the order of their numbers.
 */
export class Circle {
  readonly #order: Int32Array;
  readonly #ranks: Int32Array;

  /** @param hashes whole numbers from 0 to 2^53 - 1 */
  constructor(hashes: Float64Array) {
    this.#order = orderOf(hashes);
    this.#ranks = new Int32Array(hashes.length);
    for (let rank = 0; rank < hashes.length; rank++) this.#ranks[this.#order[rank]!] = rank;
  }

  /** The first place after `place` that is accepted, or -1 when none of the others is. */
  after(place: number, accepts: (candidate: number) => boolean): number {
    const count = this.#order.length;
    const rank = this.#ranks[place]!;
    for (let step = 1; step < count; step++) {
      const candidate = this.#order[(rank + step) % count]!;
      if (accepts(candidate)) return candidate;
    }
    return -1;
  }
}

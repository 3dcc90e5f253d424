export interface KeyRange {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly start: number;
  readonly end: number;
}

/**
 * 32-bit hash like MurmurHash3, with two independent lanes. A secret `seed` makes collisions unpredictable.
 */
export function hashBytes(view: DataView, start: number, end: number, seed: number): number {
  let a = seed;
  let b = ~seed;
  let at = start;
  for (; at + 8 <= end; at += 8) {
    a = Math.imul(((a << 13) | (a >>> 19)) ^ view.getInt32(at, true), 0xcc9e2d51);
    b = Math.imul(((b << 15) | (b >>> 17)) ^ view.getInt32(at + 4, true), 0x1b873593);
  }
  for (; at < end; at++) a = Math.imul(((a << 13) | (a >>> 19)) ^ view.getUint8(at), 0xcc9e2d51);
  let hash = a ^ ((b << 16) | (b >>> 16)) ^ (end - start);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) | 0;
}

export function equalBytes(
  a: DataView,
  aStart: number,
  b: DataView,
  bStart: number,
  length: number,
): boolean {
  let at = 0;
  for (; at + 4 <= length; at += 4) {
    if (a.getInt32(aStart + at, true) !== b.getInt32(bStart + at, true)) return false;
  }
  for (; at < length; at++) {
    if (a.getUint8(aStart + at) !== b.getUint8(bStart + at)) return false;
  }
  return true;
}

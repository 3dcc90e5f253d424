// Bucket arithmetic at scale 6: bucket i is (2^(i/64), 2^((i+1)/64)].

export const SCALE = 6;
const PER_OCTAVE = 1 << SCALE;

export const DOMAIN_MIN = 1e-9;
export const DOMAIN_MAX = 1e6;

/** A linear slot of 1/256 contains at most one boundary: the narrowest bucket, at 1, is 1/92 wide. */
const SLOT_BITS = 8;
const SLOTS = 1 << SLOT_BITS;
const MANTISSA_HIGH_BITS = 20;

const float = new Float64Array(1);
const words = new Uint32Array(float.buffer);
const LITTLE_ENDIAN = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;
const HIGH = LITTLE_ENDIAN ? 1 : 0;

/**
 * The largest double <= 2^(step/64). Math.pow differs between machines by an ulp, so integers correct it: m /
 * 2^52 <= 2^(step/64) iff m^64 <= 2^(step + 52*64).
 */
function boundaryFloor(step: number): number {
  const limit = 1n << BigInt(step + 52 * PER_OCTAVE);
  let mantissa = BigInt(Math.round(2 ** (step / PER_OCTAVE) * 2 ** 52));
  while (mantissa ** BigInt(PER_OCTAVE) > limit) mantissa -= 1n;
  while ((mantissa + 1n) ** BigInt(PER_OCTAVE) <= limit) mantissa += 1n;
  return Number(mantissa) / 2 ** 52;
}

const boundaries = Float64Array.from({ length: PER_OCTAVE + 1 }, (_, step) => boundaryFloor(step));

/** For each mantissa slot: the bucket of its lower end, counted to the bucket below. */
const firstBucket = Int32Array.from({ length: SLOTS }, (_, slot) => {
  const low = 1 + slot / SLOTS;
  let step = -1;
  while (boundaries[step + 1]! < low) step++;
  return step;
});

export function bucketIndex(value: number): number {
  float[0] = value;
  const high = words[HIGH]!;
  const exponent = (high >>> MANTISSA_HIGH_BITS) - 1023;
  words[HIGH] = (high & 0xfffff) | 0x3ff00000;
  const mantissa = float[0];
  const step = firstBucket[(high >>> (MANTISSA_HIGH_BITS - SLOT_BITS)) & (SLOTS - 1)]!;
  return exponent * PER_OCTAVE + (mantissa > boundaries[step + 1]! ? step + 1 : step);
}

/** Largest double in the bucket: 2^((index+1)/64), rounded down. */
export function bucketUpperBound(index: number): number {
  const next = index + 1;
  const exponent = Math.floor(next / PER_OCTAVE);
  return boundaries[next - exponent * PER_OCTAVE]! * 2 ** exponent;
}

/** Geometric middle, at most 0.55 % from any value in the bucket. */
export function bucketMiddle(index: number): number {
  return 2 ** ((index + 0.5) / PER_OCTAVE);
}

export const MIN_INDEX = bucketIndex(DOMAIN_MIN);
export const MAX_INDEX = bucketIndex(DOMAIN_MAX);

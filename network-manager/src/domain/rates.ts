/** tc shows bits below this, and above only thousandths of the unit. */
const EXACT_BELOW = 1e6;
const BITS = 8;
/** Queue limit in seconds. BBR needs hundreds of milliseconds to keep its rate. */
const QUEUE_SECONDS = 0.5;
const QUEUE_BYTES = { min: 65_536, max: 8_388_608 };
/** Burst bounds: two packets, and this much time at the rate. */
const BURST_BYTES = { min: 3_028, max: 67_108_864 };
const BURST_SECONDS = 0.001;

/**
 * The largest rate up to this one that tc shows exactly: whole bytes, at least four digits from 1 Mbit/s on.
 * Rounding down loses at most 0.1 %, and no flow exceeds its plan.
 */
export function shownRate(bitsPerSecond: number): number {
  let unit = BITS;
  for (let from = EXACT_BELOW; bitsPerSecond >= from; from *= 1_000) unit = from / 1_000;
  return Math.max(BITS, Math.floor(bitsPerSecond / unit) * unit);
}

export function queueBytesOf(bitsPerSecond: number): number {
  const bytes = Math.round((bitsPerSecond / BITS) * QUEUE_SECONDS);
  return Math.min(QUEUE_BYTES.max, Math.max(QUEUE_BYTES.min, bytes));
}

export function burstBytesOf(bitsPerSecond: number): number {
  const bytes = Math.round((bitsPerSecond / BITS) * BURST_SECONDS);
  return Math.min(BURST_BYTES.max, Math.max(BURST_BYTES.min, bytes));
}

const UNITS: Readonly<Record<string, number>> = { "": 1, K: 1e3, M: 1e6, G: 1e9, T: 1e12 };

/** Parses `12345Kbit` to bits per second; null: not a rate of tc. */
export function parseRate(text: string): number | null {
  const [, digits, unit] = /^(\d+)([KMGT]?)bit$/.exec(text) ?? [];
  return digits === undefined ? null : Number(digits) * (UNITS[unit ?? ""] ?? Number.NaN);
}

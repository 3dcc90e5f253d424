/** Beyond these no pod is believed, whatever it requests: 10,000 cores and 1 PiB. */
export const MAX_AMOUNTS = { cpuMillicores: 1e7, memoryBytes: 2 ** 50 } as const;

/** Finite, not negative, and at most `most`; null where that isn't known. */
export function boundedAmount(amount: number | null | undefined, most: number): number | null {
  if (amount === null || amount === undefined || Number.isNaN(amount)) return null;
  return Math.min(Math.max(0, amount), most);
}

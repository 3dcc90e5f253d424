/** No pod's request above these is believed: 10,000 cores and 1 PiB. */
export const MAX_AMOUNTS = { cpuMillicores: 1e7, memoryBytes: 2 ** 50 } as const;

/** Returns a finite amount in [0, most]; null if unknown. */
export function boundedAmount(amount: number | null | undefined, most: number): number | null {
  if (amount === null || amount === undefined || Number.isNaN(amount)) return null;
  return Math.min(Math.max(0, amount), most);
}

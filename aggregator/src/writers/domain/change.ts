// Change of a figure since it was written, in thresholds. 1 and above justifies a write; less is jitter.

/** A change must exceed both. */
interface Threshold {
  readonly absolute: number;
  readonly relative: number;
}

export const NODE_THRESHOLDS = {
  cpuMillicores: { absolute: 100, relative: 0.1 },
  memoryBytes: { absolute: 64 * 1024 ** 2, relative: 0.1 },
  costMs: { absolute: 0.2, relative: 0.1 },
  /** Absolute in ms, relative to the extent of the cluster. */
  coordinate: { absolute: 1, relative: 0.1 },
} as const satisfies Record<string, Threshold>;

/** Coarser than for nodes, because each write creates a new generation of the object. */
export const WORKLOAD_THRESHOLDS = {
  cpuMillicores: { absolute: 50, relative: 0.2 },
  memoryBytes: { absolute: 32 * 1024 ** 2, relative: 0.2 },
  bytesPerSecond: { absolute: 1000, relative: 0.25 },
} as const satisfies Record<string, Threshold>;

/** Change of a figure that becomes known. */
export const GAINED = 2;
/** Change of an obsolete figure, such as of a removed node. */
export const UNWANTED = 1;

/** Distance in thresholds. A figure that becomes unknown is no change: it waits for the refresh. */
export function changeOf(written: number | null, wanted: number | null, threshold: Threshold): number {
  if (wanted === null) return 0;
  if (written === null) return GAINED;
  return exceeds(Math.abs(wanted - written), written, threshold);
}

/** Returns `change` in thresholds; the relative one is a share of `scale`. */
export function exceeds(change: number, scale: number, { absolute, relative }: Threshold): number {
  return change / Math.max(absolute, relative * Math.abs(scale));
}

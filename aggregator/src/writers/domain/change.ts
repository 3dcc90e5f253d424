// How much a figure has changed since it was written. 1 and more is worth a write, less is jitter.

/** A change counts when it exceeds both. */
interface Threshold {
  /** In the figure's own unit. */
  readonly absolute: number;
  /** Of what is written. */
  readonly relative: number;
}

/** Of node annotations. */
export const NODE_THRESHOLDS = {
  cpuMillicores: { absolute: 100, relative: 0.1 },
  memoryBytes: { absolute: 64 * 1024 ** 2, relative: 0.1 },
  costMs: { absolute: 0.2, relative: 0.1 },
  /** Absolute in ms, relative to the extent of the cluster. */
  coordinate: { absolute: 1, relative: 0.1 },
} as const satisfies Record<string, Threshold>;

/** Of workload annotations: coarser, since each write makes a new generation of the object. */
export const WORKLOAD_THRESHOLDS = {
  cpuMillicores: { absolute: 50, relative: 0.2 },
  memoryBytes: { absolute: 32 * 1024 ** 2, relative: 0.2 },
  bytesPerSecond: { absolute: 1000, relative: 0.25 },
} as const satisfies Record<string, Threshold>;

/** A figure that is known now and is not written yet. */
export const GAINED = 2;
/** Something is written that no figure stands for any more: a node that is gone, a name that nobody wants. */
export const UNWANTED = 1;

/**
 * How many thresholds lie between them. A figure that is no longer known is no change: it waits for the
 * refresh.
 */
export function changeOf(written: number | null, wanted: number | null, threshold: Threshold): number {
  if (wanted === null) return 0;
  if (written === null) return GAINED;
  return exceeds(Math.abs(wanted - written), written, threshold);
}

/** `change`, in thresholds; `scale` is what the relative one is of. */
export function exceeds(change: number, scale: number, { absolute, relative }: Threshold): number {
  return change / Math.max(absolute, relative * Math.abs(scale));
}

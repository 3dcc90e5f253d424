/** The largest supported cluster. */
export const NODES = 5_000;
export const PODS = 100_000;
/** With managedFields, like real pods. */
export const POD_BYTES = 8_192;
export const DEPLOYMENTS = 5_000;
/** The number that the default revisionHistoryLimit leaves. */
export const REPLICA_SETS = 50_000;
export const WORKFLOWS = 1_000;
export const WATCHED_CHANGES = 20_000;

export interface Serving {
  readonly url: string;
  readonly ca: string;
}

/** Sent to the server: number of pods that change per second from now on. */
export interface Pace {
  readonly changesPerSecond: number;
}

export interface ReadingTask extends Serving {
  readonly what: "cluster" | "pods" | "metadata" | "watch" | "library";
}

export interface Reading {
  readonly objects: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly peakResidentBytes: number;
  /** After a full collection. */
  readonly heapBytes: number;
}

/** The largest cluster that Isochrone is made for. */
export const NODES = 5_000;
export const PODS = 100_000;
/** With managedFields, as pods of real clusters are. */
export const POD_BYTES = 8_192;
export const DEPLOYMENTS = 5_000;
/** As many as the default revisionHistoryLimit leaves. */
export const REPLICA_SETS = 50_000;
export const WORKFLOWS = 1_000;
export const WATCHED_CHANGES = 20_000;

/** Where the server is. */
export interface Serving {
  readonly url: string;
  readonly ca: string;
}

/** Told to the server: from now on so many pods change each second. */
export interface Pace {
  readonly changesPerSecond: number;
}

/** What a reading process is to do. */
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

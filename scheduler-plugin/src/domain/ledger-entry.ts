import type { Bytes, Millicores } from "@isochrone/primitives";

/** A pod on its way to a node, or there, that the graphs don't show yet. */
export interface LedgerEntry {
  readonly namespace: string;
  readonly workflow: string;
  readonly workload: string;
  /** Other names that the workload may have; the first that the workflow's graph knows is taken. */
  readonly alternatives?: readonly string[];
  readonly pod: string;
  readonly node: string;
  /**
   * What the pod requests, which counts while its workload's use isn't known; null = it requests none,
   * nothing is deducted.
   */
  readonly cpuMillicores: Millicores | null;
  readonly memoryBytes: Bytes | null;
}

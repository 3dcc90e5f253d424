import type { Bytes, Millicores } from "@isochrone/primitives";

/** A pod that was sent to a node and that the graphs don't show there yet. */
export interface LedgerEntry {
  readonly namespace: string;
  readonly workflow: string;
  readonly workload: string;
  readonly alternatives?: readonly string[];
  readonly pod: string;
  readonly node: string;
  /** Request of the pod, used while its workload's usage is unknown; null = none, nothing is deducted. */
  readonly cpuMillicores: Millicores | null;
  readonly memoryBytes: Bytes | null;
}

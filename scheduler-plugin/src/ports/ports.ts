import type { PriceTable } from "@isochrone/prices";
import type { ClusterGraph, ClusterGraphSnapshot, WorkflowGraph } from "@isochrone/topology";

/** Source of the scheduler's graphs. Look-ups are synchronous, from the last read. */
export interface GraphSource {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Newest cluster graph, however old; null before the first read. */
  cluster(): ClusterGraph | null;
  /** Newest graph of the workflow; null if there is none or before the first read. */
  workflow(namespace: string, name: string): WorkflowGraph | null;
  workflows?(): Iterable<WorkflowGraph>;
  ready(): boolean;
  /** Why the graphs aren't the graph API's, for readers of decisions; null if they are. */
  note?(): string | null;
  clusterSnapshot?(): ClusterGraphSnapshot | null;
  /** Null if not needed or not read yet. */
  prices?(): PriceTable | null;
}

import type { PriceTable } from "@isochrone/prices";
import type { ClusterGraph, ClusterGraphSnapshot, WorkflowGraph } from "@isochrone/topology";

/**
 * Where the scheduler's graphs come from. Look-ups answer at once from what was read last; they never wait.
 */
export interface GraphSource {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** The newest cluster graph, however old; null while none was ever read. */
  cluster(): ClusterGraph | null;
  /** The newest graph of that workflow; null when there is no such workflow, or none was ever read. */
  workflow(namespace: string, name: string): WorkflowGraph | null;
  /** All that are followed. */
  workflows?(): Iterable<WorkflowGraph>;
  /** True once all graphs were read at least once. */
  ready(): boolean;
  /**
   * Why the graphs aren't those of the graph API, in words for whoever reads a decision; null when they are.
   */
  note?(): string | null;
  /** The snapshot that `cluster` is a view of, for threads that make their own; null when nobody has it. */
  clusterSnapshot?(): ClusterGraphSnapshot | null;
  /** What bytes cost; null while nobody needs it, or it was never read. */
  prices?(): PriceTable | null;
}

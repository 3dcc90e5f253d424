import type { ClusterGraph, WorkflowGraph } from "@isochrone/topology";

/** Where the scheduler's graphs come from. Look-ups answer at once from what was read last; they never wait. */
export interface GraphSource {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** The newest cluster graph, however old; null while none was ever read. */
  cluster(): ClusterGraph | null;
  /** The newest graph of that workflow; null when there is no such workflow, or none was ever read. */
  workflow(namespace: string, name: string): WorkflowGraph | null;
  /** True once all graphs were read at least once. */
  ready(): boolean;
}

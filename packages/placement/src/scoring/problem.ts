import type { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import type { Bytes, Millicores } from "@isochrone/primitives";

/** One pod, the nodes it may go to, and what is known. Everything that a strategy may look at. */
export interface PlacementProblem {
  readonly pod: PodToPlace;
  /** Node names, each once; their order has no meaning. */
  readonly candidates: readonly string[];
  /** Candidates that must not be chosen, with the reason; they are scored all the same. */
  readonly infeasible?: ReadonlyMap<string, string>;
  readonly cluster: GraphInput<ClusterGraph>;
  readonly workflow: GraphInput<WorkflowGraph>;
  /** Decisions that the workflow graph doesn't show yet. They count as placed. */
  readonly assumed?: readonly AssumedPod[];
  /**
   * What pods that were sent to a node a moment ago will use there; deducted from what the node has
   * available.
   */
  readonly assumedUse?: AmountsByNode;
  /**
   * What is measured as used and will be free when the pod is placed: what it uses itself where it runs now.
   */
  readonly released?: AmountsByNode;
}

/** Amounts by node name. */
export type AmountsByNode = ReadonlyMap<
  string,
  { readonly cpuMillicores: Millicores; readonly memoryBytes: Bytes }
>;

export interface PodToPlace {
  readonly namespace: string;
  readonly name: string;
  /** Its workload's name in the workflow graph; null for a pod of no workflow. */
  readonly workload: string | null;
  /** What its containers request; used for a resource whose use was never measured. */
  readonly requests?: ResourceAmounts;
  /** What all its containers may use together; null: one may use any. @default null */
  readonly cpuLimitMillicores?: Millicores | null;
}

export interface ResourceAmounts {
  /** null = not given. */
  readonly cpuMillicores: Millicores | null;
  /** null = not given. */
  readonly memoryBytes: Bytes | null;
}

/** A graph with its age, or why there is none to be used. */
export type GraphInput<G> =
  | { readonly graph: G; readonly ageSeconds: number | null }
  | { readonly graph: null; readonly reason: string };

/** A pod that was sent to a node a moment ago. */
export interface AssumedPod {
  readonly workload: string;
  readonly name: string;
  readonly node: string;
}

import type { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import type { Bytes, Millicores } from "@isochrone/primitives";

/** All inputs that a strategy may use. */
export interface PlacementProblem {
  readonly pod: PodToPlace;
  readonly candidates: readonly string[];
  /** Candidates that must not be chosen, with the reason. */
  readonly infeasible?: ReadonlyMap<string, string>;
  readonly cluster: GraphInput<ClusterGraph>;
  readonly workflow: GraphInput<WorkflowGraph>;
  /** Decisions that the workflow graph doesn't show yet; they count as placed. */
  readonly assumed?: readonly AssumedPod[];
  /** Future use of recently placed pods; deducted from the available amounts. */
  readonly assumedUse?: AmountsByNode;
  /** Measured use that ends when the pod moves: its own use where it runs now. */
  readonly released?: AmountsByNode;
}

export type AmountsByNode = ReadonlyMap<
  string,
  { readonly cpuMillicores: Millicores; readonly memoryBytes: Bytes }
>;

export interface PodToPlace {
  readonly namespace: string;
  readonly name: string;
  /** Name in the workflow graph. Null: the pod is in no workflow. */
  readonly workload: string | null;
  /** Sum of the containers' requests; replaces an unmeasured use. */
  readonly requests?: ResourceAmounts;
  /** Sum over its containers. Null: some container is unlimited. @default null */
  readonly cpuLimitMillicores?: Millicores | null;
}

export interface ResourceAmounts {
  readonly cpuMillicores: Millicores | null;
  readonly memoryBytes: Bytes | null;
}

/** A graph with its age, or why there is none. */
export type GraphInput<G> =
  | { readonly graph: G; readonly ageSeconds: number | null }
  | { readonly graph: null; readonly reason: string };

export interface AssumedPod {
  readonly workload: string;
  readonly name: string;
  readonly node: string;
}

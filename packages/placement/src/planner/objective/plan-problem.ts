import type { PairPrices } from "@isochrone/prices";
import type { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import type { AssumedPod } from "../../scoring/problem.ts";

/** Pods to be placed together. Indices are positions in `nodes`, `pods` and `resources`. */
export interface PlanProblem {
  readonly nodes: readonly PlanNode[];
  /** The identical array for all problems on the same nodes, as a cache key. @default taken from `nodes` */
  readonly nodeNames?: readonly string[];
  readonly pods: readonly PlanPod[];
  /** Kubernetes' names: cpu in millicores, memory and ephemeral-storage in bytes, others in pieces. */
  readonly resources: readonly string[];
  readonly constraints: readonly DomainConstraint[];
  readonly cluster: ClusterGraph;
  /** The nodes that it shows for `pods` are ignored. */
  readonly workflow: WorkflowGraph;
  readonly assumed?: readonly AssumedPod[];
  /** Measured CPU use. @default unknown */
  readonly use?: PlanUse;
  /** Prices per byte between the nodes of `cluster`, in its order. @default unknown */
  readonly prices?: PairPrices;
  /** Limit, else request, in millicores, by workload with nearest-replica routing. @default unknown */
  readonly replicaCpu?: ReadonlyMap<string, number>;
}

export interface PlanUse {
  /** Millicores by node; 0: its use is unknown. */
  readonly capacity: Float64Array;
  /** Use by unplanned pods and the system, by node. */
  readonly others: Float64Array;
  /** Use by pod, or its request if unknown. */
  readonly pods: Float64Array;
}

export interface PlanNode {
  readonly name: string;
  readonly zone: string | null;
  readonly region: string | null;
  /** Free amount after placed pods and nominations, by resource; may be negative. */
  readonly free: Float64Array;
  readonly allocatable: Float64Array;
}

export interface PlanPod {
  readonly namespace: string;
  readonly name: string;
  /** Name in the workflow graph. Null: unknown. */
  readonly workload: string | null;
  readonly demand: Float64Array;
  /** 1: admitted, apart from resources and constraints. Null: all nodes. */
  readonly allowed: Uint8Array | null;
  /** Current node. Its `free` excludes this pod's use; the planner returns it. -1: none. */
  readonly current: number;
}

export type DomainConstraint = SpreadConstraint | SpanConstraint | ApartConstraint | TogetherConstraint;

interface DomainRule {
  /** For messages, such as `topologySpreadConstraints of default/web (topology.kubernetes.io/zone)`. */
  readonly name: string;
  /** Domain by node; -1: none, closed to subjects. */
  readonly domainOf: Int32Array;
  /** Unplanned members by domain. */
  readonly placed: Int32Array;
  readonly subjects: readonly number[];
  readonly members: readonly number[];
}

/**
 * A subject's domain has at most `maxSkew` more members than the emptiest one (0 if there are fewer than
 * `minDomains`).
 */
export interface SpreadConstraint extends DomainRule {
  readonly kind: "spread";
  readonly maxSkew: number;
  readonly minDomains: number | null;
}

/** Members, including placed ones, occupy at least `minDistinct` domains. */
export interface SpanConstraint extends DomainRule {
  readonly kind: "span";
  readonly minDistinct: number;
}

/** No subject shares its domain with another member or a placed one. */
export interface ApartConstraint extends DomainRule {
  readonly kind: "apart";
}

/**
 * Each subject shares its domain with another member or a placed one. The first of a self-matching group is
 * exempt.
 */
export interface TogetherConstraint extends DomainRule {
  readonly kind: "together";
}

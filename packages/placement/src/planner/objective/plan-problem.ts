import type { PairPrices } from "@isochrone/prices";
import type { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import type { AssumedPod } from "../../scoring/problem.ts";

/**
 * Pods that are to be placed all at once, and where they may go. A node's index is its position in `nodes`, a
 * pod's its position in `pods`, a resource's its position in `resources`.
 */
export interface PlanProblem {
  readonly nodes: readonly PlanNode[];
  /**
   * The names of `nodes`, in their order: one and the same array for all problems on the same nodes, so that
   * what depends on names alone is worked out once. @default they are taken from `nodes`
   */
  readonly nodeNames?: readonly string[];
  readonly pods: readonly PlanPod[];
  /**
   * As Kubernetes names them. Amounts: cpu in millicores, memory and ephemeral-storage in bytes, all others
   * in pieces.
   */
  readonly resources: readonly string[];
  readonly constraints: readonly DomainConstraint[];
  /** What a round trip between two nodes costs. */
  readonly cluster: ClusterGraph;
  /**
   * Who talks to whom, and where pods are that aren't planned. Where it shows a pod of `pods` on a node
   * doesn't count.
   */
  readonly workflow: WorkflowGraph;
  /** Decisions that the workflow graph doesn't show yet. */
  readonly assumed?: readonly AssumedPod[];
  /** What is really used of CPU, where that is measured. @default nobody knows */
  readonly use?: PlanUse;
  /** What bytes cost between the nodes of `cluster`, in its order. @default nobody knows */
  readonly prices?: PairPrices;
  /**
   * By workload: CPU that each of its replicas can get, its limit, else its request; millicores. Of those
   * whose callers go to the nearest. @default nobody knows
   */
  readonly replicaCpu?: ReadonlyMap<string, number>;
}

/** CPU as it is used, whatever is requested; millicores. */
export interface PlanUse {
  /** By node: what it has; 0 where its use isn't known. */
  readonly capacity: Float64Array;
  /** By node: what all others use there than the pods that are planned. */
  readonly others: Float64Array;
  /** By pod: what it uses, or requests where its use isn't known. */
  readonly pods: Float64Array;
}

export interface PlanNode {
  readonly name: string;
  readonly zone: string | null;
  readonly region: string | null;
  /** By resource: what placed pods and other nominations leave of the allocatable amount; may be negative. */
  readonly free: Float64Array;
  /** By resource: the allocatable amount. */
  readonly allocatable: Float64Array;
}

export interface PlanPod {
  readonly namespace: string;
  readonly name: string;
  /** Its workload's name in the workflow graph; null for one that the graph doesn't know. */
  readonly workload: string | null;
  /** By resource. */
  readonly demand: Float64Array;
  /** By node, 1 where everything but resources and constraints lets it in; null: everywhere. */
  readonly allowed: Uint8Array | null;
  /**
   * Where it runs now: the node's `free` doesn't include what it uses there; the planner gives that back. -1:
   * nowhere yet.
   */
  readonly current: number;
}

/** A rule about which pods may share a domain (a node, a zone), in the words of Kubernetes. */
export type DomainConstraint = SpreadConstraint | SpanConstraint | ApartConstraint | TogetherConstraint;

interface DomainRule {
  /** For messages, such as `topologySpreadConstraints of default/web (topology.kubernetes.io/zone)`. */
  readonly name: string;
  /** By node: the domain's index; -1 for a node that has none, where no subject may go. */
  readonly domainOf: Int32Array;
  /** By domain: placed pods that aren't planned and that count like members. */
  readonly placed: Int32Array;
  /** Pods that obey it. */
  readonly subjects: readonly number[];
  /** Pods that count in the domain where they are planned. */
  readonly members: readonly number[];
}

/**
 * A subject's domain has at most `maxSkew` more members than the domain that has fewest (0 while there are
 * less than `minDomains` domains).
 */
export interface SpreadConstraint extends DomainRule {
  readonly kind: "spread";
  readonly maxSkew: number;
  readonly minDomains: number | null;
}

/** The members, with those placed, are in at least `minDistinct` domains. */
export interface SpanConstraint extends DomainRule {
  readonly kind: "span";
  readonly minDistinct: number;
}

/** No subject shares its domain with a member other than itself, nor with one that is placed. */
export interface ApartConstraint extends DomainRule {
  readonly kind: "apart";
}

/**
 * A subject shares its domain with a member other than itself or with one that is placed; the first of a
 * group that matches its own rule is free.
 */
export interface TogetherConstraint extends DomainRule {
  readonly kind: "together";
}

// What may be asked of another cluster than the one of today, and what it is asked of.
import type { ClusterGraphSnapshot, Demand, WorkflowGraphSnapshot } from "@isochrone/topology";
import type { ApiObject } from "../feasibility/objects/json.ts";
import type { SelectingObjects } from "../feasibility/scores/default-scores.ts";
import type { ClusterObjects } from "../feasibility/scheduling-model.ts";

/** Objects and graphs of one moment. Nothing of it is ever changed. */
export interface World {
  readonly objects: Omit<ClusterObjects, "nodes" | "pods"> &
    SelectingObjects & { readonly nodes: readonly ApiObject[]; readonly pods: readonly ApiObject[] };
  readonly cluster: ClusterGraphSnapshot;
  readonly workflows: readonly WorkflowGraphSnapshot[];
  /** How zones share what is asked of Services, for the bill. */
  readonly demand: Pick<Demand, "services">;
}

export interface Scaling {
  /** namespace/name */
  readonly workload: string;
  readonly replicas: number;
}

/** A pod that is put onto a node and stays there, whatever the planner would do. */
export interface Relocation {
  /** namespace/name */
  readonly pod: string;
  readonly node: string;
}

/** Of the links between two nodes, or between the nodes of two zones, in both directions. */
export interface Slowdown {
  readonly a: string;
  readonly b: string;
  /** Round trips take so much longer, milliseconds; 0: no longer. */
  readonly addMs: number;
  /** And so many times as long before that. */
  readonly factor: number;
}

export interface Change {
  /** Nodes that are gone, with all that is bound to them. */
  readonly drain?: readonly string[];
  readonly loseZones?: readonly string[];
  readonly scale?: readonly Scaling[];
  readonly move?: readonly Relocation[];
  readonly slow?: readonly Slowdown[];
}

/** Thrown for a change that can't be made; the message names subject, rule and value. */
export class ChangeError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "ChangeError";
  }
}

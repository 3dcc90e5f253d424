import type { ClusterGraphSnapshot, Demand, WorkflowGraphSnapshot } from "@isochrone/topology";
import type { ApiObject } from "../feasibility/objects/json.ts";
import type { SelectingObjects } from "../feasibility/scores/default-scores.ts";
import type { ClusterObjects } from "../feasibility/scheduling-model.ts";

/** Objects and graphs at one time. Immutable. */
export interface World {
  readonly objects: Omit<ClusterObjects, "nodes" | "pods"> &
    SelectingObjects & { readonly nodes: readonly ApiObject[]; readonly pods: readonly ApiObject[] };
  readonly cluster: ClusterGraphSnapshot;
  readonly workflows: readonly WorkflowGraphSnapshot[];
  readonly demand: Pick<Demand, "services">;
}

export interface Scaling {
  readonly workload: string;
  readonly replicas: number;
}

export interface Relocation {
  readonly pod: string;
  readonly node: string;
}

export interface Slowdown {
  readonly a: string;
  readonly b: string;
  /** Time added to round trips after `factor`, milliseconds. */
  readonly addMs: number;
  readonly factor: number;
}

export interface Change {
  /** Removed nodes, with all pods bound to them. */
  readonly drain?: readonly string[];
  readonly loseZones?: readonly string[];
  readonly scale?: readonly Scaling[];
  readonly move?: readonly Relocation[];
  readonly slow?: readonly Slowdown[];
}

export class ChangeError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "ChangeError";
  }
}

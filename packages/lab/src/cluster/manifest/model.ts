import type { KubernetesObject } from "@isochrone/kubernetes";

/** Overrides of a call; absent fields use the workloads' values. */
export interface CallOptions {
  /** Share of requests that make the call, in (0, 1]. @default 1 */
  readonly probability?: number;
  readonly requestBytes?: number;
  readonly responseBytes?: number;
}

export interface Behaviour {
  /** Services called in parallel on each request. */
  readonly calls: readonly string[];
  /** Body size of a response. */
  readonly responseBytes: number;
  /** Body size of each outgoing request. */
  readonly requestBytes: number;
  /** Busy work per request, milliseconds. */
  readonly cpuMs: number;
  /** Absent: constant. */
  readonly cpuSpread?: "exponential";
  /** Absent: real CPU work. */
  readonly cpuKind?: "modelled";
  readonly callOptions?: Readonly<Record<string, CallOptions>>;
}

export interface WorkflowWorkload {
  readonly name: string;
  readonly namespace: string;
  /** Services that select its pods; callers see the first. */
  readonly services: readonly string[];
  /** Names of called workloads. */
  readonly callees: readonly string[];
  readonly entry: boolean;
  readonly behaviour: Behaviour;
}

export interface WorkflowManifest {
  readonly file: string;
  readonly workflow: string;
  readonly namespace: string;
  /** Deployments, Services and AppGroups in file order. */
  readonly objects: readonly KubernetesObject[];
  /** Callers before callees. */
  readonly workloads: readonly WorkflowWorkload[];
  readonly entry: WorkflowWorkload;
}

export interface ManifestDocument {
  /** 1-based position in the file. */
  readonly index: number;
  readonly object: KubernetesObject;
  /** Line of the field, or of its nearest existing parent. */
  line(...path: readonly (string | number)[]): number;
}

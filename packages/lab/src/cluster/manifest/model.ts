import type { KubernetesObject } from "@isochrone/kubernetes";

/** What a call has of its own; what is left out is the workloads'. */
export interface CallOptions {
  /** Share of the requests that make the call, above 0 and at most 1. @default 1 */
  readonly probability?: number;
  readonly requestBytes?: number;
  readonly responseBytes?: number;
}

/** How the stand-in program of a workload behaves. */
export interface Behaviour {
  /** Services called in parallel on each request. */
  readonly calls: readonly string[];
  /** Body bytes of an answer. */
  readonly responseBytes: number;
  /** Body bytes of each request that it sends. */
  readonly requestBytes: number;
  /** Busy work per request, milliseconds. */
  readonly cpuMs: number;
  /** Absent: always the same. */
  readonly cpuSpread?: "exponential";
  /** Absent: the machine works. */
  readonly cpuKind?: "modelled";
  /** By service. */
  readonly callOptions?: Readonly<Record<string, CallOptions>>;
}

/** One Deployment of a manifest, read and checked. */
export interface WorkflowWorkload {
  readonly name: string;
  readonly namespace: string;
  /** Services that select its pods; the first names it to its callers. */
  readonly services: readonly string[];
  /** Names of the workloads that it calls. */
  readonly callees: readonly string[];
  readonly entry: boolean;
  readonly behaviour: Behaviour;
}

/** A workflow manifest, read and checked. */
export interface WorkflowManifest {
  readonly file: string;
  readonly workflow: string;
  readonly namespace: string;
  /** Deployments, Services and AppGroups as they go into the store, in the order of the file. */
  readonly objects: readonly KubernetesObject[];
  /** Callers before callees. */
  readonly workloads: readonly WorkflowWorkload[];
  readonly entry: WorkflowWorkload;
}

/** One document of a manifest with a way to find the line of a field. */
export interface ManifestDocument {
  /** 1 is the first document of the file. */
  readonly index: number;
  readonly object: KubernetesObject;
  /** Line of the field, or of its nearest parent that exists. */
  line(...path: readonly (string | number)[]): number;
}

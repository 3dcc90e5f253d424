import type { KubernetesObject } from "@isochrone/kubernetes";

export interface CallOptions {
  /** Share of requests that make the call, in (0, 1]. @default 1 */
  readonly probability?: number;
  readonly requestBytes?: number;
  readonly responseBytes?: number;
}

export interface Behaviour {
  readonly calls: readonly string[];
  readonly responseBytes: number;
  readonly requestBytes: number;
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
  readonly services: readonly string[];
  readonly callees: readonly string[];
  readonly entry: boolean;
  readonly behaviour: Behaviour;
}

export interface WorkflowManifest {
  readonly file: string;
  readonly workflow: string;
  readonly namespace: string;
  readonly objects: readonly KubernetesObject[];
  /** Callers before callees. */
  readonly workloads: readonly WorkflowWorkload[];
  readonly entry: WorkflowWorkload;
}

export interface ManifestDocument {
  /** 1-based position in the file. */
  readonly index: number;
  readonly object: KubernetesObject;
  line(...path: readonly (string | number)[]): number;
}

import type { Placement } from "../port.ts";

export interface SchedulableNode {
  readonly name: string;
  /** "": no zone label. */
  readonly zone: string;
  readonly region: string;
  readonly cpuMillicores: number;
  readonly memoryBytes: number;
  readonly maxPods: number;
}

/** A pending pod: a replica of a workload with a Service. */
export interface WaitingPod {
  readonly name: string;
  readonly workload: string;
  /** CPU request; 0: none. */
  readonly cpuMillicores: number;
  readonly memoryBytes: number;
  /** Node of its nodeSelector; null: any. */
  readonly pinnedTo: string | null;
}

export interface SchedulingRequest {
  readonly nodes: readonly SchedulableNode[];
  /** In order of creation. */
  readonly pods: readonly WaitingPod[];
  readonly placed: readonly (readonly [pod: WaitingPod, node: string])[];
}

export interface KubeScheduler {
  readonly version: string;
  /** Returns nodes of the pending pods. Rejects with the scheduler's message if a pod has no node. */
  schedule(request: SchedulingRequest): Promise<Placement>;
}

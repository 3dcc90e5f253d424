import type { Placement } from "../port.ts";

/** A node as the scheduler sees it. */
export interface SchedulableNode {
  readonly name: string;
  /** "": it carries no such label. */
  readonly zone: string;
  readonly region: string;
  readonly cpuMillicores: number;
  readonly memoryBytes: number;
  /** How many pods it takes. */
  readonly maxPods: number;
}

/** A pod that waits for a node: a replica of its workload, which has a Service. */
export interface WaitingPod {
  readonly name: string;
  readonly workload: string;
  /** What it requests; 0: nothing. */
  readonly cpuMillicores: number;
  readonly memoryBytes: number;
  /** The only node that its nodeSelector lets it onto; null: any. */
  readonly pinnedTo: string | null;
}

export interface SchedulingRequest {
  readonly nodes: readonly SchedulableNode[];
  /** In the order in which they are created. */
  readonly pods: readonly WaitingPod[];
  /** On nodes from the beginning. */
  readonly placed: readonly (readonly [pod: WaitingPod, node: string])[];
}

/** A real kube-scheduler with its default profile. One request at a time. */
export interface KubeScheduler {
  /** Such as "1.35.8". */
  readonly version: string;
  /** The nodes of the pods that waited. Rejects with the scheduler's message when it finds none for a pod. */
  schedule(request: SchedulingRequest): Promise<Placement>;
}

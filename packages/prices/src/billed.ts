import type {
  Channel,
  OutsideFlow,
  PodPlacement,
  WorkflowGraphSnapshot,
  Workload,
} from "@isochrone/topology";

export interface Name {
  readonly namespace: string;
  readonly name: string;
}

export interface End extends Name {
  readonly pods: readonly PodPlacement[];
}

export type BilledWorkflow = Pick<WorkflowGraphSnapshot, "name" | "namespace"> & {
  readonly workloads: readonly Workload[];
  readonly channels: readonly Channel[];
  readonly outside?: readonly OutsideFlow[];
};

export interface Billed {
  readonly source: End;
  readonly target: End;
  readonly channel: Channel;
  readonly isOwn: boolean;
}

export function keyOf({ namespace, name }: Name): string {
  return `${namespace}/${name}`;
}

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

/** A workflow graph, as far as it is billed. */
export type BilledWorkflow = Pick<WorkflowGraphSnapshot, "name" | "namespace"> & {
  readonly workloads: readonly Workload[];
  readonly channels: readonly Channel[];
  /** What goes to the outside of the cluster; absent: nothing is known of it. */
  readonly outside?: readonly OutsideFlow[];
};

/** A channel once, though two workflows may have it. */
export interface Billed {
  readonly source: End;
  readonly target: End;
  readonly channel: Channel;
  /** Its source's own namespace tells of it. */
  readonly isOwn: boolean;
}

export function keyOf({ namespace, name }: Name): string {
  return `${namespace}/${name}`;
}

import type { StoreClusterWatch } from "../adapters/store-cluster-watch.ts";
import type { Leadership } from "../ports.ts";
import type { Replication } from "../replication.ts";
import type { AnnotatedObjects } from "./annotation-planner.ts";
import { soleOwner, type Ownership } from "./ownership.ts";

/** Objects as the cluster's watch has them. */
export function annotatedObjectsOf(watch: StoreClusterWatch): AnnotatedObjects {
  return {
    nodes: () => watch.nodeObjects(),
    workloads: () => watch.workloadObjects(),
    latest: (object) => watch.latest(object),
  };
}

/** Who writes what, among the replicas if there are several. @param leadership where there is only one @default it leads */
export function ownershipOf(replication: Replication | null, leadership: Leadership | undefined): Ownership {
  if (replication === null) return soleOwner(leadership ?? { isLeader: () => true });
  const { replicas, leadership: elected } = replication;
  return {
    owns: (object) => replicas.owns(object),
    isLeader: () => elected.isLeader(),
    replicas: () => Math.max(1, replicas.liveReplicas().length),
  };
}

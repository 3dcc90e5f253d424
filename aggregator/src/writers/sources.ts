import { identityOfLife, type Leadership } from "@isochrone/kubernetes";
import type { Clock, Random } from "@isochrone/runtime";
import type { StoreClusterWatch } from "../adapters/store-cluster-watch.ts";
import type { Writer } from "@isochrone/topology";
import { AGGREGATOR_LEASE } from "../replication/leadership.ts";
import type { Replication } from "../replication/replication.ts";
import type { AnnotatedObjects } from "./annotation-planner.ts";
import { soleOwner, type Ownership } from "./ownership.ts";

export function annotatedObjectsOf(watch: StoreClusterWatch): AnnotatedObjects {
  return {
    nodes: () => watch.nodeObjects(),
    workloads: () => watch.workloadObjects(),
    latest: (object) => watch.latest(object),
  };
}

/** @param leadership of a single replica; by default it leads */
export function ownershipOf(replication: Replication | null, leadership: Leadership | undefined): Ownership {
  if (replication === null) return soleOwner(leadership ?? { isLeader: () => true });
  const { replicas, leadership: elected } = replication;
  return {
    owns: (object) => replicas.owns(object),
    isLeader: () => elected.isLeader(),
    replicas: () => Math.max(1, replicas.liveReplicas().length),
  };
}

interface Self {
  readonly clock: Clock;
  readonly random: Random;
  readonly machine?: string;
}

/** Coordinated replicas are one writer. A single replica is a new writer in every process. */
export function writerOf(
  leaseNamespace: string | null,
  { clock, random, machine = "aggregator" }: Self,
): Writer {
  const name =
    leaseNamespace === null ? identityOfLife(machine, random) : `${leaseNamespace}/${AGGREGATOR_LEASE}`;
  return { name, sinceMs: clock.now() };
}

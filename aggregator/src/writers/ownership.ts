import type { Leadership } from "@isochrone/kubernetes";

export interface Ownership {
  /** Decides by rendezvous hashing over live replicas. Requires this replica's own valid Lease. */
  owns(object: string): boolean;
  isLeader(): boolean;
  /** Number of live replicas, including this one; at least 1. */
  replicas(): number;
}

/** A single replica owns everything. */
export function soleOwner(leadership: Leadership): Ownership {
  return { owns: () => true, isLeader: () => leadership.isLeader(), replicas: () => 1 };
}

import type { Leadership } from "@isochrone/kubernetes";

/** Which replica writes what. */
export interface Ownership {
  /**
   * Whether this replica writes the object, by rendezvous hash over the live ones, while its own Lease holds.
   */
  owns(object: string): boolean;
  isLeader(): boolean;
  /** Replicas that are alive, this one included; at least 1. */
  replicas(): number;
}

/** The only replica owns everything. */
export function soleOwner(leadership: Leadership): Ownership {
  return { owns: () => true, isLeader: () => leadership.isLeader(), replicas: () => 1 };
}

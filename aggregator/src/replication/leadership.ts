import {
  fencedStore,
  leaderStore as storeOfLeader,
  type ClusterStore,
  type ElectedLeadership,
  type Leadership,
} from "@isochrone/kubernetes";
import { hash53 } from "../domain/hash.ts";
import type { LeaseAnswer } from "../domain/bandwidth/bandwidth-leases.ts";
import type { LeaseDesk } from "../http/bandwidth-lease-routes.ts";

/** Name of the Lease of what only one replica may do; those of the replicas themselves begin with it. */
export const AGGREGATOR_LEASE = "isochrone-aggregator";

export function isElected(leadership: Leadership): leadership is ElectedLeadership {
  return "leadingForMs" in leadership;
}

/** The store for what only the leader may write. */
export function leaderStore(store: ClusterStore, leadership: Leadership): ClusterStore {
  return storeOfLeader(store, leadership, AGGREGATOR_LEASE);
}

/**
 * The store for what each object's owner writes: it writes nothing once others no longer count this replica
 * among them.
 */
export function ownerStore(store: ClusterStore, replicas: { isAlive(): boolean }): ClusterStore {
  const reason = "this replica's own lease does not hold";
  return fencedStore(store, { mayWrite: () => replicas.isAlive(), reason });
}

/** Part of the wait by which answers differ, so that those who wait for one thing don't come back as one. */
const RETRY_SPREAD = 0.25;

/**
 * The desk of a replica that may not always have led: after an election it grants nothing for as long as a
 * lease lasts, since leases of the leader before may still be out. (The last of those was granted before this
 * term began.)
 */
export function deskAfterElection(
  desk: LeaseDesk,
  leadership: ElectedLeadership,
  leaseMs: number,
  onDenied: (denial: "starting") => void = () => undefined,
): LeaseDesk {
  return {
    acquire: (node): LeaseAnswer => {
      const waitMs = leaseMs - (leadership.leadingForMs() ?? leaseMs);
      if (waitMs <= 0) return desk.acquire(node);
      onDenied("starting");
      const spread = RETRY_SPREAD * (hash53(node) / 2 ** 53);
      return { lease: null, denial: "starting", retryAfterMs: Math.ceil(waitMs * (1 + spread)) };
    },
    release: (id) => desk.release(id),
  };
}

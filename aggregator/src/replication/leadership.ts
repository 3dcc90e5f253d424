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

/** Name of the leader's Lease, and prefix of the replicas' Leases. */
export const AGGREGATOR_LEASE = "isochrone-aggregator";

export function isElected(leadership: Leadership): leadership is ElectedLeadership {
  return "leadingForMs" in leadership;
}

export function leaderStore(store: ClusterStore, leadership: Leadership): ClusterStore {
  return storeOfLeader(store, leadership, AGGREGATOR_LEASE);
}

/** Writes stop once other replicas no longer count this one as live. */
export function ownerStore(store: ClusterStore, replicas: { isAlive(): boolean }): ClusterStore {
  const reason = "this replica's own lease does not hold";
  return fencedStore(store, { mayWrite: () => replicas.isAlive(), reason });
}

/** Share of the wait that varies by node, so that waiting nodes do not retry at once. */
const RETRY_SPREAD = 0.25;

/** Grants nothing for the duration of a lease after an election: old leases may still be held. */
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

import {
  createLeaderElection,
  fencedStore,
  identityOfLife,
  leaderStore as storeOfLeader,
  type ClusterStore,
  type ElectionTiming,
  type LeaderElection,
  type LeaseHolder,
} from "@isochrone/kubernetes";
import type { Clock, Logger, Random, Service } from "@isochrone/runtime";
import { hash53 } from "./domain/hash.ts";
import type { LeaseAnswer } from "./domain/bandwidth-leases.ts";
import type { LeaseDesk } from "./http/bandwidth-lease-routes.ts";
import type { Leadership } from "./ports.ts";

/** Name of the Lease of what only one replica may do; those of the replicas themselves begin with it. */
export const AGGREGATOR_LEASE = "isochrone-aggregator";

/** One of several replicas. */
export interface ReplicaOptions {
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Where the Leases are. */
  readonly namespace: string;
  /** Name of this replica, usually of its pod: an RFC 1123 subdomain, unique among those that run. */
  readonly replica: string;
  /** Base address at which other replicas reach this one; null: not known (yet). */
  readonly url: () => string | null;
  readonly timing?: Partial<ElectionTiming>;
}

/** Leadership that others hold at other times. */
export interface ElectedLeadership extends Leadership {
  /** How long this replica has led, ms; null when it doesn't. */
  leadingForMs(): number | null;
  /** The replica that leads, as far as is known. */
  holder(): LeaseHolder | null;
}

export function isElected(leadership: Leadership): leadership is ElectedLeadership {
  return "leadingForMs" in leadership;
}

/** One of all replicas leads, by a Lease. */
export class LeaseLeadership implements ElectedLeadership, Service {
  readonly #election: LeaderElection;

  constructor(options: ReplicaOptions) {
    this.#election = electionOf(options, AGGREGATOR_LEASE);
  }

  isLeader(): boolean {
    return this.#election.isLeader();
  }

  leadingForMs(): number | null {
    return this.#election.leadingForMs();
  }

  holder(): LeaseHolder | null {
    return this.#election.holder();
  }

  async start(): Promise<void> {
    this.#election.start();
  }

  /** Comes after all that only the leader may do has stopped. */
  async stop(): Promise<void> {
    await this.#election.stop();
  }
}

/** The store for what only the leader may write. */
export function leaderStore(store: ClusterStore, leadership: Leadership): ClusterStore {
  return storeOfLeader(store, leadership, AGGREGATOR_LEASE);
}

/** The store for what each object's owner writes: it writes nothing once others no longer count this replica among them. */
export function ownerStore(store: ClusterStore, replicas: { isAlive(): boolean }): ClusterStore {
  const reason = "this replica's own lease does not hold";
  return fencedStore(store, { mayWrite: () => replicas.isAlive(), reason });
}

/** A candidacy of this life of a replica. */
export function electionOf(
  options: ReplicaOptions,
  leaseName: string,
  labels: Readonly<Record<string, string>> = {},
): LeaderElection {
  const { replica, random, timing, ...rest } = options;
  return createLeaderElection({
    ...rest,
    ...timing,
    random,
    name: leaseName,
    identity: identityOfLife(replica, random),
    labels,
  });
}

/** Part of the wait by which answers differ, so that those who wait for one thing don't come back as one. */
const RETRY_SPREAD = 0.25;

/**
 * The desk of a replica that may not always have led: after an election it grants nothing for as long as a lease lasts, since leases of
 * the leader before may still be out. (The last of those was granted before this term began.)
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

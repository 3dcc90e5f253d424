// Runs a part of the scheduler-plugin while this replica leads, one term after another.
import { electionTiming, leaderStore, SharedLeadership } from "@isochrone/kubernetes";
import type { ClusterStore, Membership } from "@isochrone/kubernetes";
import type { Clock, Logger, Random } from "@isochrone/runtime";
import type { SchedulerPluginConfig } from "../settings.ts";

/** Lease that elects the leading scheduler-plugin replica. */
export const SCHEDULER_LEASE = "isochrone-scheduler-plugin";

export interface Term {
  /** Resolves once nothing of the term runs any more. */
  stop(): Promise<void>;
}

interface TermsOptions<T extends Term> {
  readonly leadership: Pick<SharedLeadership, "isLeader" | "join">;
  readonly begin: () => T;
  readonly onTerm?: (runs: boolean) => void;
}

export class Terms<T extends Term> {
  readonly #options: TermsOptions<T>;
  readonly #membership: Membership;
  #current: T | null = null;
  #ending: Promise<unknown> = Promise.resolve();
  #stopped = false;

  constructor(options: TermsOptions<T>) {
    this.#options = options;
    this.#membership = options.leadership.join({
      onStartedLeading: () => this.#begin(),
      onStoppedLeading: () => this.#end(),
    });
  }

  /** null while another replica leads, and before the start. */
  get current(): T | null {
    return this.#current;
  }

  isLeader(): boolean {
    return this.#membership.isLeader();
  }

  storeOf(store: ClusterStore): ClusterStore {
    return leaderStore(store, this.#options.leadership, SCHEDULER_LEASE);
  }

  start(): void {
    this.#membership.start();
  }

  /** Call before the election ends: a term may write until it has stopped. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#end();
    try {
      await this.#ending;
    } finally {
      this.#membership.stop();
    }
  }

  #begin(): void {
    this.#end();
    if (this.#stopped) return;
    this.#options.onTerm?.(true);
    this.#current = this.#options.begin();
  }

  #end(): void {
    this.#options.onTerm?.(false);
    const term = this.#current;
    this.#current = null;
    if (term !== null) this.#ending = Promise.all([this.#ending, term.stop()]);
  }
}

export function leadershipOf(
  config: SchedulerPluginConfig,
  deps: {
    readonly store: ClusterStore;
    readonly leaseStore?: ClusterStore;
    readonly clock: Clock;
    readonly random: Random;
    readonly logger: Logger;
    /** URL at which other replicas reach this one; null if there is none yet. */
    readonly url: () => string | null;
  },
): SharedLeadership {
  const { replicaName: replica, replicaNamespace: namespace } = config;
  const { clock, random, logger, store, leaseStore = store, url } = deps;
  const around = { clock, random, logger, store: leaseStore, url };
  return new SharedLeadership(
    { ...around, replica, namespace, timing: electionTiming(config) },
    SCHEDULER_LEASE,
  );
}

import { createLeaderElection, identityOfLife } from "@isochrone/kubernetes";
import type { ClusterStore, ElectionTiming } from "@isochrone/kubernetes";
import type { Clock, Logger, Random, Service } from "@isochrone/runtime";

/** Name of the Lease of what only one replica of the scheduler-plugin may do. */
export const SCHEDULER_LEASE = "isochrone-scheduler-plugin";

export interface LeadershipOptions {
  /** Name of this replica among several; null: it is the only one, leads at once, and no Lease is used. */
  readonly replica: string | null;
  readonly namespace: string;
  readonly timing?: Partial<ElectionTiming>;
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly onStartedLeading: () => void;
  readonly onStoppedLeading: () => void;
}

/** Whether this replica is the one that may act. */
export interface Leadership extends Service {
  isLeader(): boolean;
}

/** What a part hears of leading. */
export type LeadershipListener = Pick<LeadershipOptions, "onStartedLeading" | "onStoppedLeading">;

/**
 * One election for several parts of this process: who has the Lease leads in all of them. It is begun by the first part that starts, and
 * given up only when the last one has stopped, so that none of them writes for a leader of the past.
 */
export class SharedLeadership {
  readonly #members = new Set<LeadershipListener>();
  readonly #election: Leadership;
  #started: Promise<void> | null = null;

  constructor(options: Omit<LeadershipOptions, keyof LeadershipListener>) {
    this.#election = createLeadership({
      ...options,
      onStartedLeading: () => this.#tell("onStartedLeading"),
      onStoppedLeading: () => this.#tell("onStoppedLeading"),
    });
  }

  isLeader(): boolean {
    return this.#election.isLeader();
  }

  /** A part's own view of it: its `start` and `stop` are the part's. */
  join(listener: LeadershipListener): Leadership {
    return {
      isLeader: () => this.#members.has(listener) && this.isLeader(),
      start: async () => {
        if (this.#members.has(listener)) return;
        this.#members.add(listener);
        if (this.isLeader()) listener.onStartedLeading();
        this.#started ??= this.#election.start();
        await this.#started;
      },
      stop: async () => {
        const leads = this.isLeader();
        if (!this.#members.delete(listener)) return;
        if (leads) listener.onStoppedLeading();
        if (this.#members.size === 0) await this.#election.stop();
      },
    };
  }

  #tell(what: keyof LeadershipListener): void {
    for (const member of this.#members) member[what]();
  }
}

export function createLeadership(options: LeadershipOptions): Leadership {
  const { replica, random, timing, onStartedLeading, onStoppedLeading, ...rest } = options;
  if (replica === null) return new SoleReplica(onStartedLeading, onStoppedLeading);
  const election = createLeaderElection({
    ...rest,
    ...timing,
    random,
    name: SCHEDULER_LEASE,
    identity: identityOfLife(replica, random),
    onStartedLeading,
    onStoppedLeading,
  });
  return {
    isLeader: () => election.isLeader(),
    start: async () => election.start(),
    stop: () => election.stop(),
  };
}

class SoleReplica implements Leadership {
  readonly #onStarted: () => void;
  readonly #onStopped: () => void;
  #leads = false;

  constructor(onStarted: () => void, onStopped: () => void) {
    this.#onStarted = onStarted;
    this.#onStopped = onStopped;
  }

  isLeader(): boolean {
    return this.#leads;
  }

  async start(): Promise<void> {
    if (this.#leads) return;
    this.#leads = true;
    this.#onStarted();
  }

  async stop(): Promise<void> {
    if (!this.#leads) return;
    this.#leads = false;
    this.#onStopped();
  }
}

// Which replica does what only one may do.
import type { Clock, Logger, Random } from "@isochrone/runtime";
import { createLeaderElection } from "./leases/lease-election.ts";
import type { LeaderElection } from "./leases/lease-election.ts";
import type { ElectionTiming } from "./leases/lease-options.ts";
import type { ClusterStore } from "./store/port.ts";
import { identityOfLife } from "./leases/replica-settings.ts";

/** Whether this replica is the one that may act. */
export interface Leadership {
  isLeader(): boolean;
}

/** Leadership that others hold at other times. */
export type ElectedLeadership = Pick<LeaderElection, "isLeader" | "leadingForMs" | "holder">;

/** One of several replicas. */
export interface CandidateOptions {
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Where the Leases are. */
  readonly namespace: string;
  /** Name of this replica, usually of its pod: an RFC 1123 subdomain, unique among those that run. */
  readonly replica: string;
  /** Base address at which other replicas reach this one; null: not known (yet). @default none */
  readonly url?: () => string | null;
  readonly timing?: Partial<ElectionTiming>;
}

/** What a part hears of leading. */
export interface LeadershipListener {
  readonly onStartedLeading: () => void;
  readonly onStoppedLeading: () => void;
}

/** The candidacy of this life of a replica. */
export function candidacy(
  options: CandidateOptions,
  leaseName: string,
  more: Partial<LeadershipListener> & { readonly labels?: Readonly<Record<string, string>> } = {},
): LeaderElection {
  const { replica, random, timing, ...rest } = options;
  const identity = identityOfLife(replica, random);
  return createLeaderElection({ ...rest, ...timing, ...more, random, name: leaseName, identity });
}

/** A part's own view of a leadership that several share. */
export interface Membership extends Leadership {
  start(): void;
  stop(): void;
}

/**
 * One election for several parts of a process: who has the Lease leads in all of them. It is started before
 * them, and stopped after them, so that none of them writes for a leader of the past.
 */
export class SharedLeadership implements Leadership {
  readonly #members = new Set<LeadershipListener>();
  /** null: the only replica, which leads while it runs. */
  readonly #election: LeaderElection | null;
  #isWanted = false;
  #isRunning = false;

  /** @param options `replica` null: it is the only one, leads at once, and no Lease is used */
  constructor(
    options: Omit<CandidateOptions, "replica"> & { readonly replica: string | null },
    lease: string,
  ) {
    const { replica } = options;
    const listener: LeadershipListener = {
      onStartedLeading: () => this.#members.forEach((member) => member.onStartedLeading()),
      onStoppedLeading: () => this.#members.forEach((member) => member.onStoppedLeading()),
    };
    this.#election = replica === null ? null : candidacy({ ...options, replica }, lease, listener);
  }

  isLeader(): boolean {
    return this.#election?.isLeader() ?? this.#isRunning;
  }

  /** Where the replica that leads can be reached, as its Lease says; null: not known, or it is this one. */
  leaderUrl(): string | null {
    return this.isLeader() ? null : (this.#election?.holder()?.url ?? null);
  }

  /** Takes no Lease where nothing depends on it. */
  start(): void {
    this.#isRunning = true;
    if (this.#isWanted) this.#election?.start();
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    await this.#election?.stop();
  }

  /** From its `start` to its `stop` a member leads when the process does. */
  join(listener: LeadershipListener): Membership {
    this.#isWanted = true;
    const isLeader = (): boolean => this.#members.has(listener) && this.isLeader();
    return {
      isLeader,
      start: () => {
        if (this.#members.has(listener)) return;
        this.#members.add(listener);
        if (this.isLeader()) listener.onStartedLeading();
      },
      stop: () => {
        const leads = isLeader();
        this.#members.delete(listener);
        if (leads) listener.onStoppedLeading();
      },
    };
  }
}

import type { Clock, Logger, Random } from "@isochrone/runtime";
import { createLeaderElection } from "./leases/lease-election.ts";
import type { LeaderElection } from "./leases/lease-election.ts";
import type { ElectionTiming } from "./leases/lease-options.ts";
import type { ClusterStore } from "./store/port.ts";
import { identityOfLife } from "./leases/replica-settings.ts";

export interface Leadership {
  isLeader(): boolean;
}

export type ElectedLeadership = Pick<LeaderElection, "isLeader" | "leadingForMs" | "holder">;

export interface CandidateOptions {
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly namespace: string;
  /** Replica's unique name, usually its pod's: an RFC 1123 subdomain. */
  readonly replica: string;
  /** Base address of this replica for others. Null: unknown. @default none */
  readonly url?: () => string | null;
  readonly timing?: Partial<ElectionTiming>;
}

export interface LeadershipListener {
  readonly onStartedLeading: () => void;
  readonly onStoppedLeading: () => void;
}

export function candidacy(
  options: CandidateOptions,
  leaseName: string,
  more: Partial<LeadershipListener> & { readonly labels?: Readonly<Record<string, string>> } = {},
): LeaderElection {
  const { replica, random, timing, ...rest } = options;
  const identity = identityOfLife(replica, random);
  return createLeaderElection({ ...rest, ...timing, ...more, random, name: leaseName, identity });
}

export interface Membership extends Leadership {
  start(): void;
  stop(): void;
}

/**
 * One election for several parts of a process. Started before and stopped after them, so that none writes for
 * a past leader.
 */
export class SharedLeadership implements Leadership {
  readonly #members = new Set<LeadershipListener>();
  /** The election. Null: the only replica, which always leads. */
  readonly #election: LeaderElection | null;
  #isWanted = false;
  #isRunning = false;

  /** @param options `replica` null: the only replica, which leads without a Lease */
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

  /** Address of the leader by its Lease. Null: unknown, or this replica leads. */
  leaderUrl(): string | null {
    return this.isLeader() ? null : (this.#election?.holder()?.url ?? null);
  }

  /** Takes the Lease only if some part needs it. */
  start(): void {
    this.#isRunning = true;
    if (this.#isWanted) this.#election?.start();
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    await this.#election?.stop();
  }

  /** Between its `start` and `stop`, a member leads when the process does. */
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

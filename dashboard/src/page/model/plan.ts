// What the scheduler-plugin's plans API answers; its document describes it.

export interface Plan {
  readonly id: string;
  readonly at: string;
  /** That planned; absent: the only one. */
  readonly replica?: string;
  /** namespace/name */
  readonly workflow: string;
  readonly durationMs: number;
  /** Bytes per second times milliseconds. */
  readonly cost: { readonly network: number; readonly pressure: number; readonly total: number } | null;
  readonly lowerBound: number | null;
  readonly pods: readonly {
    readonly name: string;
    readonly workload: string | null;
    readonly node: string | null;
    readonly reason: string | null;
    readonly decision: string;
  }[];
  readonly explanation: readonly string[];
}

export interface PlanList {
  readonly plans: readonly Plan[];
  /** Replicas that could not be asked; absent: none. */
  readonly incomplete?: readonly string[];
}

/** What would be best for a workflow that runs; nobody moves its pods by it. */
export interface Proposal extends Pick<Plan, "id" | "at" | "workflow" | "explanation"> {
  readonly today: NonNullable<Plan["cost"]>;
  readonly cost: NonNullable<Plan["cost"]>;
  /**
   * Share of what the network costs today that it saves; null where it costs nothing. Absent: an earlier
   * scheduler-plugin's.
   */
  readonly savedRatio?: number | null;
  /** Those that would move, in the order in which they are to. */
  readonly pods: readonly {
    readonly name: string;
    readonly workload: string | null;
    readonly from: string;
    readonly node: string | null;
    /** What the plan would cost more without this move. */
    readonly gain?: number;
    /** Why it can't be made once those before it are made; null: it can. */
    readonly obstacle?: string | null;
  }[];
}

export interface ProposalList {
  readonly plans: readonly Proposal[];
}

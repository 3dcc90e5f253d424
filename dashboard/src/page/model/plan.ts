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
  /** Share of today's network cost that the moves save that can be made now; null where it costs nothing. */
  readonly savedRatio: number | null;
  /** What these moves save together, and how far that may be off. */
  readonly gain: number;
  readonly gainError: number;
  /** Mean round trip of a request; null without traffic. */
  readonly perRequest: {
    readonly todayMs: number;
    readonly bestMs: number;
    readonly errorMs: number;
  } | null;
  /** Those that would move, in the order in which they are to. */
  readonly pods: readonly {
    readonly name: string;
    readonly workload: string | null;
    readonly from: string;
    readonly node: string | null;
    /** The moves of a step only pay together. */
    readonly step: number;
    /** What its step saves once the steps before it are made, and how far that may be off. */
    readonly gain: number;
    readonly gainError: number;
    /** Why it can't be made now; null: it can. */
    readonly obstacle: string | null;
  }[];
}

export interface ProposalList {
  readonly plans: readonly Proposal[];
  /** By which proposals are judged; absent: there are none, since the planner is off. */
  readonly rules?: object;
}

/** Says why no plan is proposed, and what would change that. */
export function whyNoProposal(answer: {
  readonly data: ProposalList | null;
  readonly failure: object | null;
}): string {
  if (answer.failure !== null) return "no scheduler-plugin answers: aggregator.decisionsUrl";
  const isOff = answer.data !== null && answer.data.rules === undefined;
  return isOff ? "nothing is proposed: planner.enabled brings plans" : "nothing is proposed yet";
}

/** The moves that can be made now. */
export function movesNow({ pods }: Pick<Proposal, "pods">): Proposal["pods"] {
  return pods.filter(({ obstacle }) => obstacle === null);
}

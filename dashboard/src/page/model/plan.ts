export interface Plan {
  readonly id: string;
  readonly at: string;
  readonly replica?: string;
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
  readonly incomplete?: readonly string[];
}

/** The best placement for a running workflow; it triggers no moves. */
export interface Proposal extends Pick<Plan, "id" | "at" | "workflow" | "explanation"> {
  readonly today: NonNullable<Plan["cost"]>;
  readonly cost: NonNullable<Plan["cost"]>;
  /** Share of the current network cost saved by the currently possible moves; null if the cost is 0. */
  readonly savedRatio: number | null;
  readonly gain: number;
  readonly gainError: number;
  /** Mean round trip of a request, ms; null without traffic. */
  readonly perRequest: {
    readonly todayMs: number;
    readonly bestMs: number;
    readonly errorMs: number;
  } | null;
  readonly pods: readonly {
    readonly name: string;
    readonly workload: string | null;
    readonly from: string;
    readonly node: string | null;
    /** Moves of one step only pay off together. */
    readonly step: number;
    /** Gain of the step after the previous ones, and its error. */
    readonly gain: number;
    readonly gainError: number;
    readonly obstacle: string | null;
  }[];
}

export interface ProposalList {
  readonly plans: readonly Proposal[];
  /** Criterion of proposals; absent: none, since the planner is off. */
  readonly rules?: object;
}

/** Reason for missing proposals, and the remedy. */
export function whyNoProposal(answer: {
  readonly data: ProposalList | null;
  readonly failure: object | null;
}): string {
  if (answer.failure !== null) return "no scheduler-plugin answers: aggregator.decisionsUrl";
  const isOff = answer.data !== null && answer.data.rules === undefined;
  return isOff ? "nothing is proposed: planner.enabled brings plans" : "nothing is proposed yet";
}

export function movesNow({ pods }: Pick<Proposal, "pods">): Proposal["pods"] {
  return pods.filter(({ obstacle }) => obstacle === null);
}

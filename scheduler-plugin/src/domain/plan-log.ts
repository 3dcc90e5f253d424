// The last plans as a whole; each pod's part of one is a decision of its own.

/** Costs in bytes/s x ms. */
export interface LoggedPlan {
  readonly id: string;
  /** RFC 3339 */
  readonly at: string;
  /** namespace/name */
  readonly workflow: string;
  /** Of the search. */
  readonly durationMs: number;
  /** null when there is none: nothing could be planned. */
  readonly cost: PlanCosts | null;
  /** No plan costs less; null = not known. */
  readonly lowerBound: number | null;
  readonly pods: readonly LoggedPlanPod[];
  /** In words. */
  readonly explanation: readonly string[];
}

/** What would be best for the pods of a workflow that runs. Nobody is moved by it. */
export interface LoggedProposal extends Omit<LoggedPlan, "pods" | "cost"> {
  /** As the pods are now. */
  readonly today: PlanCosts;
  readonly cost: PlanCosts;
  /** Share of today's network cost that the moves save that can be made now; null where it costs nothing. */
  readonly savedRatio: number | null;
  /** What these moves save together, bytes/s x ms, and how far that may be off. */
  readonly gain: number;
  readonly gainError: number;
  /** Mean round trip of its requests; null without traffic. */
  readonly perRequest: {
    readonly todayMs: number;
    readonly bestMs: number;
    readonly errorMs: number;
  } | null;
  /** Those that would move, in the order in which they are to; those that can't now come last. */
  readonly pods: readonly LoggedProposalPod[];
}

interface LoggedProposalPod extends Omit<LoggedPlanPod, "decision" | "node"> {
  readonly from: string;
  readonly node: string;
  /** Number of its step, from 1: the moves of a step only pay together. */
  readonly step: number;
  /** What its step saves once the steps before it are made, bytes/s x ms. */
  readonly gain: number;
  /** How far that may be off. */
  readonly gainError: number;
  /** Why it can't be made now; null: it can. */
  readonly obstacle: string | null;
  /** Nothing is decided. */
  readonly decision: null;
}

/** Costs in bytes/s x ms. */
interface PlanCosts {
  readonly network: number;
  readonly pressure: number;
  readonly total: number;
  /** Of the traffic, whatever decided. */
  readonly latency?: number;
  /** Money for a month of it; null: nothing of it has a price. */
  readonly perMonth?: number | null;
}

export interface LoggedPlanPod {
  readonly name: string;
  readonly workload: string | null;
  /** null: it was released without a node. */
  readonly node: string | null;
  readonly reason: string | null;
  /** Id of the decision. */
  readonly decision: string;
}

interface PlanFilter {
  readonly namespace?: string | undefined;
  readonly limit: number;
}

/** Remembers so many plans; the oldest go first. */
export class PlanLog {
  readonly #capacity: number;
  readonly #plans: LoggedPlan[] = [];
  #proposals: readonly LoggedProposal[] = [];

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  add(plan: LoggedPlan): void {
    this.#plans.push(plan);
    if (this.#plans.length > this.#capacity) this.#plans.shift();
  }

  /** In place of all that were proposed before: of what runs only the newest counts. */
  propose(proposals: readonly LoggedProposal[]): void {
    this.#proposals = proposals;
  }

  proposals({ namespace, limit }: PlanFilter): readonly LoggedProposal[] {
    return this.#proposals
      .filter(({ workflow }) => namespace === undefined || workflow.startsWith(`${namespace}/`))
      .slice(0, limit);
  }

  /** Newest first. */
  find({ namespace, limit }: PlanFilter): LoggedPlan[] {
    return this.#plans
      .filter(({ workflow }) => namespace === undefined || workflow.startsWith(`${namespace}/`))
      .toReversed()
      .slice(0, limit);
  }
}

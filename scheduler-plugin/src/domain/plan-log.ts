// The last plans as a whole. Each pod's part is a decision of its own.
import type { Plan } from "@isochrone/placement";
import { compareIds } from "./decision-ids.ts";

/** Costs in bytes/s x ms. */
export interface LoggedPlan {
  readonly id: string;
  readonly at: string;
  readonly workflow: string;
  readonly durationMs: number;
  /** null if nothing could be planned. */
  readonly cost: PlanCosts | null;
  /** Lower bound of any plan's cost; null = unknown. */
  readonly lowerBound: number | null;
  readonly ended: Plan["ended"];
  readonly pods: readonly LoggedPlanPod[];
  readonly explanation: readonly string[];
  readonly replica?: string;
}

export interface LoggedProposal extends Omit<LoggedPlan, "pods" | "cost"> {
  readonly today: PlanCosts;
  readonly cost: PlanCosts;
  /** Share of the current network cost that feasible moves save; null if the cost is 0. */
  readonly savedRatio: number | null;
  /** Saving of these moves together and its error, bytes/s x ms. */
  readonly gain: number;
  readonly gainError: number;
  /** Mean round trip of its requests; null without traffic. */
  readonly perRequest: {
    readonly todayMs: number;
    readonly bestMs: number;
    readonly errorMs: number;
  } | null;
  readonly pods: readonly LoggedProposalPod[];
}

interface LoggedProposalPod extends Omit<LoggedPlanPod, "decision" | "node"> {
  readonly from: string;
  readonly node: string;
  readonly step: number;
  /** Saving of its step after all earlier steps, bytes/s x ms. */
  readonly gain: number;
  readonly gainError: number;
  readonly obstacle: string | null;
  readonly decision: null;
}

/** Costs in bytes/s x ms. */
interface PlanCosts {
  readonly network: number;
  readonly pressure: number;
  readonly total: number;
  readonly latency?: number;
  readonly perMonth?: number | null;
}

export interface LoggedPlanPod {
  readonly name: string;
  readonly workload: string | null;
  /** null: released without a node. */
  readonly node: string | null;
  readonly reason: string | null;
  readonly decision: string;
}

interface PlanFilter {
  readonly namespace?: string | undefined;
  readonly limit: number;
}

interface KeptPlan {
  readonly plan: LoggedPlan;
  /** Life of the replica that the plan was copied from; null if made here. */
  readonly from: string | null;
  readonly seq: number;
}

interface KeptProposals {
  readonly proposals: readonly LoggedProposal[];
  readonly seq: number;
}

export class PlanLog {
  readonly #capacity: number;
  readonly #replica: string | null;
  readonly #plans: KeptPlan[] = [];
  #proposed: KeptProposals = { proposals: [], seq: 0 };
  #seq = 0;

  constructor(capacity: number, replica: string | null = null) {
    this.#capacity = capacity;
    this.#replica = replica;
  }

  get seq(): number {
    return this.#seq;
  }

  add(plan: LoggedPlan): void {
    this.#insert(this.#named(plan), null);
  }

  /**
   * Adds another replica's plan. Returns whether it is new.
   * @param from life of the sending replica
   */
  copy(plan: LoggedPlan, from: string): boolean {
    return !this.#plans.some((known) => known.plan.id === plan.id) && this.#insert(plan, from);
  }

  /** Plans added after `seq` that weren't copied from `life`, in order of arrival. */
  changes(seq: number, life: string): readonly KeptPlan[] {
    return this.#plans
      .filter((each) => each.seq > seq && each.from !== life)
      .toSorted((a, b) => a.seq - b.seq);
  }

  propose(proposals: readonly LoggedProposal[]): void {
    this.copyProposals(proposals.map((proposal) => this.#named(proposal)));
  }

  copyProposals(proposals: readonly LoggedProposal[]): void {
    this.#proposed = { proposals, seq: ++this.#seq };
  }

  get proposed(): KeptProposals {
    return this.#proposed;
  }

  proposals({ namespace, limit }: PlanFilter): readonly LoggedProposal[] {
    return this.#proposed.proposals
      .filter(({ workflow }) => namespace === undefined || workflow.startsWith(`${namespace}/`))
      .slice(0, limit);
  }

  find({ namespace, limit }: PlanFilter): LoggedPlan[] {
    return this.#plans
      .map(({ plan }) => plan)
      .filter(({ workflow }) => namespace === undefined || workflow.startsWith(`${namespace}/`))
      .toReversed()
      .slice(0, limit);
  }

  /** Inserts by age. Returns false if it is older than everything in a full log. */
  #insert(plan: LoggedPlan, from: string | null): boolean {
    const at = this.#plans.findLastIndex((known) => compareAge(known.plan, plan) <= 0) + 1;
    if (at === 0 && this.#plans.length >= this.#capacity) return false;
    this.#plans.splice(at, 0, { plan, from, seq: ++this.#seq });
    if (this.#plans.length > this.#capacity) this.#plans.shift();
    return true;
  }

  #named<P extends LoggedPlan | LoggedProposal>(plan: P): P {
    return this.#replica === null ? plan : { ...plan, replica: this.#replica };
  }
}

function compareAge(a: LoggedPlan, b: LoggedPlan): number {
  return Date.parse(a.at) - Date.parse(b.at) || compareIds(a.id, b.id);
}

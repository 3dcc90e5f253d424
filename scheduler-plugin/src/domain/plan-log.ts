// The last plans as a whole; each pod's part of one is a decision of its own.
import type { Plan } from "@isochrone/placement";
import { compareIds } from "./decision-ids.ts";

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
  /** Why the search ended; see Plan. */
  readonly ended: Plan["ended"];
  readonly pods: readonly LoggedPlanPod[];
  /** In words. */
  readonly explanation: readonly string[];
  /** Name of the replica that planned; the log adds it. Absent: the only one. */
  readonly replica?: string;
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

interface KeptPlan {
  readonly plan: LoggedPlan;
  /** Life of the replica that the plan was copied from; null: it was made here. */
  readonly from: string | null;
  readonly seq: number;
}

/** The newest proposals, and when they were replaced. */
interface KeptProposals {
  readonly proposals: readonly LoggedProposal[];
  readonly seq: number;
}

/** Remembers so many plans of all replicas; the oldest go first. */
export class PlanLog {
  readonly #capacity: number;
  readonly #replica: string | null;
  /** Oldest first. */
  readonly #plans: KeptPlan[] = [];
  #proposed: KeptProposals = { proposals: [], seq: 0 };
  #seq = 0;

  /** @param replica name of this replica; null: it is the only one */
  constructor(capacity: number, replica: string | null = null) {
    this.#capacity = capacity;
    this.#replica = replica;
  }

  /** Counts the changes so far. */
  get seq(): number {
    return this.#seq;
  }

  add(plan: LoggedPlan): void {
    this.#insert(this.#named(plan), null);
  }

  /**
   * Keeps a plan of another replica. Returns whether it is new.
   * @param from life of the replica that sent it
   */
  copy(plan: LoggedPlan, from: string): boolean {
    return !this.#plans.some((known) => known.plan.id === plan.id) && this.#insert(plan, from);
  }

  /** Plans that were added after `seq` and not copied from `life`, in the order in which they came. */
  changes(seq: number, life: string): readonly KeptPlan[] {
    return this.#plans
      .filter((each) => each.seq > seq && each.from !== life)
      .toSorted((a, b) => a.seq - b.seq);
  }

  /** In place of all that were proposed before: of what runs only the newest counts. */
  propose(proposals: readonly LoggedProposal[]): void {
    this.copyProposals(proposals.map((proposal) => this.#named(proposal)));
  }

  /** The leader's, in place of all before. */
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

  /** Newest first. */
  find({ namespace, limit }: PlanFilter): LoggedPlan[] {
    return this.#plans
      .map(({ plan }) => plan)
      .filter(({ workflow }) => namespace === undefined || workflow.startsWith(`${namespace}/`))
      .toReversed()
      .slice(0, limit);
  }

  /** By age. False: there is no room for one as old as this. */
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

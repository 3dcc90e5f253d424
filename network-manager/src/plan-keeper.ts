import type { Clock, Logger } from "@isochrone/runtime";
import { parseFlowPlan, SnapshotError, type FlowPlan } from "@isochrone/topology";
import { GraphClientError } from "@isochrone/topology/client";
import type { PlanCache, PlanSource } from "./ports/ports.ts";

/** Why a plan wasn't taken. Metric label `reason`. */
export type PlanRefusal = "invalid" | "other_node" | "older";

interface PlanKeeperDeps {
  readonly node: string;
  readonly holdMs: number;
  readonly source: PlanSource;
  /** The plan whose rules stand on the node; null: none do. */
  standing(): FlowPlan | null;
  readonly cache: PlanCache;
  readonly clock: Clock;
  readonly logger: Logger;
  onRefused(reason: PlanRefusal): void;
  onUnreachable(): void;
}

const NOT_FOUND = 404;

/** Epochs that were replaced and can't come back. */
const MAX_ENDED_EPOCHS = 32;

/** Keeps the plan in force. A plan that breaks a rule changes nothing, and confirms nothing. */
export class PlanKeeper {
  readonly #deps: PlanKeeperDeps;
  readonly #endedEpochs = new Set<string>();
  #plan: FlowPlan | null = null;
  /** When the plan, or that there is none yet, was last sure. Monotonic. */
  #sureMs: number;
  #isConfirmed = false;

  constructor(deps: PlanKeeperDeps) {
    this.#deps = deps;
    this.#sureMs = deps.clock.monotonic();
  }

  /** Seconds since the source last confirmed the plan; null: it never did. */
  get ageSeconds(): number | null {
    return this.#isConfirmed ? this.#unsureMs / 1000 : null;
  }

  get #unsureMs(): number {
    return this.#deps.clock.monotonic() - this.#sureMs;
  }

  /**
   * What the kernel should follow. Null: no plan, so nothing of a plan may stay. "wait": it isn't known yet,
   * and what an earlier run has set stays as it is.
   */
  wanted(): FlowPlan | null | "wait" {
    if (this.#unsureMs > this.#deps.holdMs) return null;
    return this.#plan ?? "wait";
  }

  /** Takes the plan of an earlier run, if there is a sound one. */
  async restore(): Promise<void> {
    try {
      const cached = await this.#deps.cache.read();
      if (cached !== null) this.#plan ??= this.#ownPlan(parseFlowPlan(cached));
    } catch (error) {
      this.#deps.logger.warn("cached flow plan not usable", { error });
    }
  }

  /** Asks once; resolves with the least time until it may be asked again, ms. Throws on abort only. */
  async refresh(signal: AbortSignal): Promise<number> {
    try {
      await this.#take(await this.#deps.source.fetch(this.#deps.standing(), signal));
      return 0;
    } catch (error) {
      signal.throwIfAborted();
      return this.#failed(error);
    }
  }

  /** Whether the source says that the cluster has no such node. */
  async hasLeft(): Promise<boolean> {
    try {
      await this.#deps.source.fetch(null, new AbortController().signal);
      return false;
    } catch (error) {
      return error instanceof GraphClientError && error.status === NOT_FOUND;
    }
  }

  async #take(plan: FlowPlan): Promise<void> {
    if (this.#ownPlan(plan) === null) return this.#refuse("other_node", plan);
    const { epoch, generation } = plan;
    const now = this.#plan;
    const isOlder = now?.epoch === epoch ? generation < now.generation : this.#endedEpochs.has(epoch);
    if (isOlder) return this.#refuse("older", plan);
    if (now !== null && now.epoch !== epoch) this.#endEpoch(now.epoch);
    this.#plan = plan;
    this.#sureMs = this.#deps.clock.monotonic();
    this.#isConfirmed = true;
    if (now?.version !== plan.version || now.generation !== generation) await this.#store(plan);
  }

  #ownPlan(plan: FlowPlan): FlowPlan | null {
    return plan.node === this.#deps.node ? plan : null;
  }

  #endEpoch(epoch: string): void {
    this.#endedEpochs.add(epoch);
    const [oldest] = this.#endedEpochs;
    if (this.#endedEpochs.size > MAX_ENDED_EPOCHS) this.#endedEpochs.delete(oldest!);
  }

  #refuse(reason: PlanRefusal, { node, epoch, generation }: FlowPlan): void {
    this.#deps.onRefused(reason);
    this.#deps.logger.warnOnce(`flow-plan:${reason}`, "flow plan refused", {
      reason,
      planNode: node,
      epoch,
      generation,
      inForce: this.#plan === null ? null : this.#plan.generation,
    });
  }

  #failed(error: unknown): number {
    if (error instanceof SnapshotError) {
      this.#deps.onRefused("invalid");
      this.#deps.logger.warnOnce("flow-plan:invalid", "flow plan refused", { reason: "invalid", error });
      return 0;
    }
    this.#deps.onUnreachable();
    // Each kind of failure is said: a refusal may hide behind a start before the aggregator.
    const kind = error instanceof GraphClientError ? `${error.code}:${error.status}` : "";
    this.#deps.logger.warnOnce(`flow-plan-unreachable:${kind}`, "flow plan can't be read", { error });
    return error instanceof GraphClientError ? (error.retryAfterMs ?? 0) : 0;
  }

  async #store(plan: FlowPlan): Promise<void> {
    try {
      await this.#deps.cache.write(plan);
    } catch (error) {
      this.#deps.logger.warnOnce("flow-plan-cache", "flow plan not cached", { error });
    }
  }
}

import type { Clock, Logger } from "@isochrone/runtime";
import { parseFlowPlan, SnapshotError, type FlowPlan } from "@isochrone/topology";
import { GraphClientError } from "@isochrone/topology/client";
import type { PlanCache, PlanSource } from "./ports/ports.ts";

export type PlanRefusal = "invalid" | "other_node" | "older";

interface PlanKeeperDeps {
  readonly node: string;
  readonly holdMs: number;
  readonly source: PlanSource;
  standing(): FlowPlan | null;
  readonly cache: PlanCache;
  readonly clock: Clock;
  readonly logger: Logger;
  onRefused(reason: PlanRefusal): void;
  onUnreachable(): void;
}

const NOT_FOUND = 404;

const MAX_ENDED_EPOCHS = 32;

export class PlanKeeper {
  readonly #deps: PlanKeeperDeps;
  readonly #endedEpochs = new Set<string>();
  #plan: FlowPlan | null = null;
  /** When the plan, or its absence, was last confirmed. Monotonic. */
  #sureMs: number;
  #isConfirmed = false;

  constructor(deps: PlanKeeperDeps) {
    this.#deps = deps;
    this.#sureMs = deps.clock.monotonic();
  }

  /** Seconds since the source last confirmed the plan; null: never. */
  get ageSeconds(): number | null {
    return this.#isConfirmed ? this.#unsureMs / 1000 : null;
  }

  get #unsureMs(): number {
    return this.#deps.clock.monotonic() - this.#sureMs;
  }

  /** The plan to apply. Null: no plan, remove all. "wait": unknown yet, leave earlier state alone. */
  wanted(): FlowPlan | null | "wait" {
    if (this.#unsureMs > this.#deps.holdMs) return null;
    return this.#plan ?? "wait";
  }

  async restore(): Promise<void> {
    try {
      const cached = await this.#deps.cache.read();
      if (cached !== null) this.#plan ??= this.#ownPlan(parseFlowPlan(cached));
    } catch (error) {
      this.#deps.logger.warn("cached flow plan not usable", { error });
    }
  }

  /** Fetches once; resolves with the minimum time until the next fetch, ms. Rejects on abort only. */
  async refresh(signal: AbortSignal): Promise<number> {
    try {
      await this.#take(await this.#deps.source.fetch(this.#deps.standing(), signal));
      return 0;
    } catch (error) {
      signal.throwIfAborted();
      return this.#failed(error);
    }
  }

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
    // Logs each kind of failure once: a refusal may follow an unreachable aggregator.
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

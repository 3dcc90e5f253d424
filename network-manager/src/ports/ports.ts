import type { FlowPlan } from "@isochrone/topology";
import type { Step } from "../domain/difference.ts";
import type { KernelState } from "../domain/kernel-state.ts";

export interface KernelPort {
  /** @param neighbours addresses to look up. Throws KernelError. */
  read(neighbours: readonly string[]): Promise<KernelState>;
  /** Applies as many steps as possible. @returns complaints of the tools; only `read` shows the result */
  apply(steps: readonly Step[]): Promise<readonly string[]>;
}

export interface PlanSource {
  /**
   * Fetches the current plan, changed or not. Throws GraphClientError, SnapshotError.
   * @param standing the plan in effect, reported to the source; null: none
   */
  fetch(standing: FlowPlan | null, signal: AbortSignal): Promise<FlowPlan>;
}

export interface PlanCache {
  /** Null if there is none. Contents are untrusted. */
  read(): Promise<unknown>;
  write(plan: FlowPlan): Promise<void>;
}

export interface NodeLock {
  /** Returns true while this process holds the lock; otherwise tries to acquire it. */
  hold(): Promise<boolean>;
  release(): Promise<void>;
}

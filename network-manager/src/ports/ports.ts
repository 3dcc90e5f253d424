import type { FlowPlan } from "@isochrone/topology";
import type { Step } from "../domain/difference.ts";
import type { KernelState } from "../domain/kernel-state.ts";

/** The node's queues, marks and routes. */
export interface KernelPort {
  /** @param neighbours addresses whose ways are wanted. Throws KernelError. */
  read(neighbours: readonly string[]): Promise<KernelState>;
  /**
   * Carries steps out as far as the kernel takes them.
   *
   * @returns what the tools complained of; whether the kernel has what was asked only `read` can say
   */
  apply(steps: readonly Step[]): Promise<readonly string[]>;
}

/** Where plans come from. */
export interface PlanSource {
  /**
   * The plan of now, changed or not. Throws GraphClientError, SnapshotError.
   *
   * @param standing the plan whose rules stand on the node, for the source to know; null: none do
   */
  fetch(standing: FlowPlan | null, signal: AbortSignal): Promise<FlowPlan>;
}

/** The last accepted plan on disk, for a start while the aggregator is away. */
export interface PlanCache {
  /** Null when there is none. What it returns is as untrusted as an answer from the network. */
  read(): Promise<unknown>;
  write(plan: FlowPlan): Promise<void>;
}

/** One manager to a node. */
export interface NodeLock {
  /** True while this process has it; asks for it otherwise. */
  hold(): Promise<boolean>;
  release(): Promise<void>;
}

import type { SpreadLimits } from "../feasibility/objects/spread-limits.ts";
import type { PlanProblem } from "../planner/objective/plan-problem.ts";
import type { PlanSettings } from "../planner/objective/plan-settings.ts";
import type { DescheduleMemory } from "./memory.ts";
import type { PaperMove } from "./paper-moves.ts";

export interface MoveRules
  extends Omit<PlanSettings, "moveCost">, Pick<SpreadLimits, "minNodes" | "minZones"> {
  /** Minimum gain as a share of the current cost of the pod's channels. */
  readonly minGainRatio: number;
  /** Minimum gain as a share of the current cost of all channels of the workflow. */
  readonly minWorkflowGainRatio: number;
  /** Minimum gain, bytes per second x milliseconds. */
  readonly minGain: number;
  /** Number of consecutive runs in which the same move must pay. */
  readonly rounds: number;
  readonly intervalMs: number;
  readonly maxEvictions: number;
  readonly maxEvictionsPerNode: number;
  readonly maxEvictionsPerNamespace: number;
  /** For the whole cluster; workflows and workloads get shares of it. */
  readonly maxEvictionsPerHour: number;
  /** Maximum pods moved together because they gain only together; 1: no groups. */
  readonly maxGroup: number;
  /** Above this share of unready pods, or nodes, no pod is moved. */
  readonly maxUnreadyRatio: number;
}

export interface MovablePod {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** Its workload, unique in the cluster. A run moves at most one of its pods. */
  readonly owner: string;
  /** Nodes of all replicas that aren't terminating, including its own. */
  readonly replicaNodes: readonly string[];
}

export interface WorkflowToImprove {
  /** namespace/name */
  readonly key: string;
  readonly problem: PlanProblem;
  readonly pods: readonly MovablePod[];
}

/** A PodDisruptionBudget. The API server enforces it in any case. */
export interface DisruptionBudget {
  /** namespace/name */
  readonly name: string;
  readonly allowed: number;
  covers(pod: MovablePod): boolean;
}

export interface RecentEviction {
  readonly owner: string;
  /** namespace/name */
  readonly workflow: string;
}

export interface ClusterCheck {
  /**
   * Returns why the replacement couldn't run there after the moves so far, across all workflows. Null: it
   * could.
   */
  verdict(pod: MovablePod, node: string): string | null;
  moved(pod: MovablePod, node: string): void;
}

/** Callers must ensure that one namespace's pods can't stop all others' moves. */
export interface ClusterHealth {
  readonly pods: number;
  readonly unreadyPods: number;
  readonly nodes: number;
  readonly unreadyNodes: number;
}

export interface DescheduleInput {
  readonly nowMs: number;
  readonly rules: MoveRules;
  readonly workflows: readonly WorkflowToImprove[];
  readonly health: ClusterHealth;
  readonly memory: DescheduleMemory;
  readonly uids?: ReadonlySet<string>;
  readonly cluster?: ClusterCheck;
  readonly disruptionBudgets?: readonly DisruptionBudget[];
  /** Evictions within the last hour. */
  readonly recent?: readonly RecentEviction[];
  /** Why no move is allowed now. Null: moves are allowed. */
  readonly closed?: Halt | null;
}

const HALT_REASONS = ["maintenance", "unready", "regret", "failed_moves", "planner", "stale"] as const;
export interface Halt {
  readonly reason: (typeof HALT_REASONS)[number];
  readonly detail: string;
}

export const STAY_REASONS = [
  "no_gain",
  "margin",
  "rounds",
  "spread",
  "infeasible",
  "max_evictions",
  "max_per_node",
  "max_per_namespace",
  "max_per_workload",
  "max_per_hour",
  "disruption_budget",
  "halted",
] as const;
export type StayReason = (typeof STAY_REASONS)[number];

export interface Move {
  readonly workflow: string;
  readonly pod: MovablePod;
  readonly from: string;
  readonly to: string;
  /** Names of the pods moved with it, all or none. */
  readonly together: readonly string[];
  readonly isPart: boolean;
  readonly worth: MoveWorth;
}

/** `cost`: by the planner's cost. `score`: by the scheduler's score, as in the paper. */
type MoveWorth =
  | {
      readonly kind: "cost";
      /** Gain of all pods of the group or campaign, bytes per second x milliseconds. */
      readonly gain: number;
      readonly cost: number;
      readonly pods: number;
    }
  | { readonly kind: "score"; readonly strategy: string; readonly mode: string; readonly move: PaperMove };

export interface DescheduleRow {
  readonly workflow: string;
  readonly namespace: string;
  readonly pod: string;
  readonly from: string;
  /** The best permitted node. Null: none is better. */
  readonly to: string | null;
  /** Cost of its channels, bytes per second x milliseconds. Null: decided by score. */
  readonly cost: number | null;
  readonly gain: number | null;
  readonly groupSize: number;
  readonly rounds: number;
  readonly decision: "move" | StayReason;
  readonly detail: string;
}

export interface DescheduleDecision {
  readonly halt: Halt | null;
  /** Moves in the order of execution. Moves of a group are adjacent, and executed all or none. */
  readonly moves: readonly Move[];
  readonly rows: readonly DescheduleRow[];
  readonly memory: DescheduleMemory;
}

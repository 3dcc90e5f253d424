import type { SpreadLimits } from "../feasibility/objects/spread-limits.ts";
import type { PlanProblem } from "../planner/objective/plan-problem.ts";
import type { PlanSettings } from "../planner/objective/plan-settings.ts";
import type { DescheduleMemory } from "./memory.ts";
import type { PaperMove } from "./paper-moves.ts";

/** When moving a pod is worth it, and how much may be moved. */
export interface MoveRules
  extends Omit<PlanSettings, "moveCost">, Pick<SpreadLimits, "minNodes" | "minZones"> {
  /** What a move must gain at least, as a share of what the pod's channels cost now. */
  readonly minGainRatio: number;
  /** The same as a share of what all channels of the pod's workflow cost now. */
  readonly minWorkflowGainRatio: number;
  /** And at least so much, bytes per second x milliseconds. */
  readonly minGain: number;
  /** In so many runs in a row the same move must have paid. */
  readonly rounds: number;
  /** Between two runs. */
  readonly intervalMs: number;
  readonly maxEvictions: number;
  readonly maxEvictionsPerNode: number;
  readonly maxEvictionsPerNamespace: number;
  /** In the whole cluster; a workflow and a workload get shares of it. */
  readonly maxEvictionsPerHour: number;
  /** Pods that are moved together because only together they gain; 1 = none. */
  readonly maxGroup: number;
  /** No pod is moved while more than this share of pods, or of nodes, isn't ready. */
  readonly maxUnreadyRatio: number;
}

/** A pod that no exclusion keeps where it is. */
export interface MovablePod {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** Of its workload, unique in the cluster: one pod of it is moved per run at most. */
  readonly owner: string;
  /** Nodes of all replicas of its workload that aren't being deleted, itself among them. */
  readonly replicaNodes: readonly string[];
}

export interface WorkflowToImprove {
  /** namespace/name */
  readonly key: string;
  /** All its pods are on nodes. */
  readonly problem: PlanProblem;
  /** By pod of the problem. */
  readonly pods: readonly MovablePod[];
}

/** How many pods may be evicted now of those that it covers. The API server holds to it in any case. */
export interface DisruptionBudget {
  /** namespace/name */
  readonly name: string;
  readonly allowed: number;
  covers(pod: MovablePod): boolean;
}

/** A pod that the descheduler has evicted. */
export interface RecentEviction {
  /** The workload, as in `MovablePod`. */
  readonly owner: string;
  /** namespace/name */
  readonly workflow: string;
}

/** What is asked of the whole cluster: problems know their own workflow's pods only. */
export interface ClusterCheck {
  /** Why the pod's replacement couldn't run there after the moves so far; null when it could. */
  verdict(pod: MovablePod, node: string): string | null;
  /** The run moves the pod there: later questions count it there. */
  moved(pod: MovablePod, node: string): void;
}

/**
 * What is asked before anything is moved. No one namespace may stop the moves of all others by its own pods:
 * callers see to it.
 */
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
  /**
   * Of all pods that are there, whether or not they may be moved: those of a larger move that aren't have
   * been moved.
   */
  readonly uids?: ReadonlySet<string>;
  readonly cluster?: ClusterCheck;
  /** @default none */
  readonly disruptionBudgets?: readonly DisruptionBudget[];
  /** Evictions of the last hour. @default none */
  readonly recent?: readonly RecentEviction[];
  /** Why nothing may be moved now, whatever it would gain; null: it may. */
  readonly closed?: Halt | null;
}

/** Why a run moves nothing at all. */
const HALT_REASONS = ["maintenance", "unready", "regret", "failed_moves", "planner", "stale"] as const;
export interface Halt {
  readonly reason: (typeof HALT_REASONS)[number];
  readonly detail: string;
}

/** Why a pod that may be moved isn't, in this run. */
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
  /** Names of the pods that are moved with it, all or none. */
  readonly together: readonly string[];
  /** Whether it is a part of a larger move, which takes several runs. */
  readonly isPart: boolean;
  readonly worth: MoveWorth;
}

/**
 * Why a pod is moved. `cost`: by the planner's cost. `score`: by the scheduler's function, as the paper has
 * it.
 */
type MoveWorth =
  | {
      readonly kind: "cost";
      /** Of all pods of its group, or of its larger move, together; bytes per second x milliseconds. */
      readonly gain: number;
      /** What their channels cost before. */
      readonly cost: number;
      /** How many they are. */
      readonly pods: number;
    }
  | { readonly kind: "score"; readonly strategy: string; readonly mode: string; readonly move: PaperMove };

/** A line of what a run would do. */
export interface DescheduleRow {
  readonly workflow: string;
  readonly namespace: string;
  readonly pod: string;
  readonly from: string;
  /** The best node that it may go to; null when there is none better. */
  readonly to: string | null;
  /** What its channels cost, bytes per second x milliseconds; null where scores decide. */
  readonly cost: number | null;
  readonly gain: number | null;
  /** Pods that only together gain that; cost and gain are those of all of them. 1: it alone. */
  readonly groupSize: number;
  /** In how many runs in a row it paid. */
  readonly rounds: number;
  readonly decision: "move" | StayReason;
  readonly detail: string;
}

export interface DescheduleDecision {
  readonly halt: Halt | null;
  /** In order; those of a group follow each other, and are carried out all or none. */
  readonly moves: readonly Move[];
  /** One per movable pod. */
  readonly rows: readonly DescheduleRow[];
  /** For the next run. */
  readonly memory: DescheduleMemory;
}

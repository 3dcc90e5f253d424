export { DEFAULT_BYTES_PER_REQUEST } from "./scoring/channel-traffic.ts";
export { ColumnPool } from "./scoring/columns.ts";
export { DEFAULT_MIN_SPREAD } from "./scoring/combine.ts";
export { HOUR_MS } from "./descheduler/budgets.ts";
export { channelLatency } from "./descheduler/channel-latency.ts";
export type { ChannelLatency } from "./descheduler/channel-latency.ts";
export { decideInSteps, decideMoves, tooManyUnready } from "./descheduler/decide.ts";
export { STAY_REASONS } from "./descheduler/deschedule-input.ts";
export type {
  ClusterCheck,
  ClusterHealth,
  DisruptionBudget,
  DescheduleDecision,
  DescheduleInput,
  DescheduleRow,
  Halt,
  MovablePod,
  Move,
  MoveRules,
  RecentEviction,
  WorkflowToImprove,
} from "./descheduler/deschedule-input.ts";
export { EXCLUSION_REASONS, exclusionOf, keepingAnnotation } from "./descheduler/exclusions.ts";
export type { ExclusionRules } from "./descheduler/exclusions.ts";
export { isOpen, parseMaintenanceWindow } from "./descheduler/maintenance.ts";
export type { MaintenanceWindow } from "./descheduler/maintenance.ts";
export { NO_MEMORY, streakKey } from "./descheduler/memory.ts";
export type { Campaign, DescheduleMemory, Streak } from "./descheduler/memory.ts";
export { paperMove } from "./descheduler/paper-moves.ts";
export type { PaperMove } from "./descheduler/paper-moves.ts";
export {
  isEffective,
  judged,
  longestPauseMs,
  nextCoolDown,
  NO_REGRET,
  proposalEnded,
  regretOf,
} from "./descheduler/regret.ts";
export type { FailedMove, JudgedMove, MeasuredMove, RegretState } from "./descheduler/regret.ts";
export { replacementOf } from "./descheduler/replacement.ts";
export { canSurge } from "./descheduler/surge.ts";
export { PlacementError } from "./scoring/errors.ts";
export type { Explanation } from "./scoring/explanation.ts";
export type { ApiObject } from "./feasibility/objects/json.ts";
export type { FeasiblePlanProblem } from "./feasibility/planning/plan-input.ts";
export { planProblem } from "./feasibility/planning/plan-problem.ts";
export { inQueueOrder } from "./feasibility/queue-order.ts";
export type { QueueStep } from "./feasibility/queue-order.ts";
export { GANG_KEYS, gangOf } from "./feasibility/gangs.ts";
export { untoleratedTaint } from "./feasibility/objects/taints.ts";
export { SchedulingModel } from "./feasibility/scheduling-model.ts";
export { DefaultScores } from "./feasibility/scores/default-scores.ts";
export type { ScorePlugin } from "./feasibility/scores/default-scores.ts";
export { feasibleNodesToFind, reasonsOf, unschedulableMessage } from "./feasibility/scores/search.ts";
export { DEFAULT_SPREAD } from "./feasibility/objects/spread-limits.ts";
export type { SpreadLimits } from "./feasibility/objects/spread-limits.ts";
export type { Rejection } from "./feasibility/objects/verdict.ts";
export { planVerdict } from "./feasibility/planning/plan-words.ts";
export {
  blockedProblem,
  openProblem,
  runningWorkflow,
  workflowPlan,
} from "./feasibility/planning/workflow-plan.ts";
export { searchSettings, WorkflowSteps } from "./feasibility/planning/workflow-steps.ts";
export { nextShown, NOTHING_SHOWN } from "./feasibility/planning/shown-plan.ts";
export type { ShownPlan } from "./feasibility/planning/shown-plan.ts";
export type { PreviousMoves, WorkflowPlanReport } from "./feasibility/planning/plan-report.ts";
export type { WorkflowPlanInput } from "./feasibility/planning/workflow-plan.ts";
export { rejectedNodes } from "./scoring/limits.ts";
export { createNetworkOverhead } from "./network-overhead/network-overhead.ts";
export { faultText } from "./order/order-fault.ts";
export type { OrderFault } from "./order/order-fault.ts";
export { isSortAlgorithm, SORT_ALGORITHMS } from "./order/sort-algorithms.ts";
export type { SortAlgorithm } from "./order/sort-algorithms.ts";
export { workloadOrder } from "./order/workload-order.ts";
export type { OrderedWorkload, WorkloadOrder } from "./order/workload-order.ts";
export { EXACT_PAIRS, exactPlan } from "./planner/exact/exact-plan.ts";
export { FALLBACK_WORDS, MONEY_LEADS } from "./planner/objective/money.ts";
export { createObjective, zoneLacks } from "./planner/objective/objective.ts";
export type { PlanCost } from "./planner/objective/objective.ts";
export type { ZoneLack } from "./planner/objective/starving-zones.ts";
export { quickEffort } from "./planner/search/budget.ts";
export { plan } from "./planner/search/plan.ts";
export { ENDED_WORDS } from "./planner/search/search.ts";
export { podLosses } from "./zones/pod-losses.ts";
export type { OtherNode, Plan } from "./planner/search/plan.ts";
export type { DomainConstraint, PlanProblem } from "./planner/objective/plan-problem.ts";
export { trafficCosts } from "./planner/objective/traffic-costs.ts";
export type { TrafficCosts } from "./planner/objective/traffic-costs.ts";
export { DEFAULT_PLAN_SETTINGS } from "./planner/objective/plan-settings.ts";
export { peerCosts, replicasOn } from "./scoring/peer-costs.ts";
export type { PeerCost, PeerCosts } from "./scoring/peer-costs.ts";
export type { PlanSettings } from "./planner/objective/plan-settings.ts";
export type {
  AmountsByNode,
  AssumedPod,
  GraphInput,
  PlacementProblem,
  ResourceAmounts,
} from "./scoring/problem.ts";
export { CHANNEL_TYPES } from "./communication-affinity/channel-types.ts";
export type { ChannelType } from "./communication-affinity/channel-types.ts";
export { CommunicationAffinity, DEFAULT_AFFINITY } from "./communication-affinity/communication-affinity.ts";
export type { CommunicationAffinityParameters } from "./communication-affinity/communication-affinity.ts";
export { createStrategy, resolvedProfile, STRATEGY_MODES } from "./profile.ts";
export type { StrategyProfile } from "./profile.ts";
export { ResourceNetwork } from "./resource-network/resource-network.ts";
export { allCandidates, keptRows, rank, rankedTable } from "./scoring/score-table.ts";
export type { ScoreTable } from "./scoring/score-table.ts";
export { workflowLatency, workflowTraffic } from "./scoring/workflow-latency.ts";
export type { Strategy } from "./scoring/strategy.ts";
export { ChangeError } from "./what-if/change.ts";
export type { Change, Relocation, Scaling, Slowdown, World } from "./what-if/change.ts";
export { whatIf } from "./what-if/what-if.ts";
export type { Outcome, WhatIf } from "./what-if/what-if.ts";
export { serviceZoneAdvice } from "./zones/service-advice.ts";

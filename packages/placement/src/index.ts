export { DEFAULT_BYTES_PER_REQUEST } from "./scoring/channel-traffic.ts";
export { ColumnPool } from "./scoring/columns.ts";
export { DEFAULT_MIN_SPREAD } from "./scoring/combine.ts";
export { channelLatency } from "./descheduler/channel-latency.ts";
export type { ChannelLatency, MeasuredPod } from "./descheduler/channel-latency.ts";
export { decideInSteps, decideMoves, tooManyUnready } from "./descheduler/decide.ts";
export { HALT_REASONS, STAY_REASONS } from "./descheduler/deschedule-input.ts";
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
  StayReason,
  WorkflowToImprove,
} from "./descheduler/deschedule-input.ts";
export { EXCLUSION_REASONS, exclusionOf } from "./descheduler/exclusions.ts";
export type { Exclusion, ExclusionReason, ExclusionRules, PodInContext } from "./descheduler/exclusions.ts";
export { isOpen, parseMaintenanceWindow } from "./descheduler/maintenance.ts";
export type { MaintenanceWindow } from "./descheduler/maintenance.ts";
export { NO_MEMORY, streakKey } from "./descheduler/memory.ts";
export type { Campaign, DescheduleMemory, Streak } from "./descheduler/memory.ts";
export { paperMove } from "./descheduler/paper-moves.ts";
export type { NodeScore, PaperMove } from "./descheduler/paper-moves.ts";
export { isEffective, judged, nextCoolDown, NO_REGRET, regretOf } from "./descheduler/regret.ts";
export type { JudgedMove, RegretRules, RegretState } from "./descheduler/regret.ts";
export { replacementOf } from "./descheduler/replacement.ts";
export { PLACEMENT_ERROR_CODES, PlacementError } from "./scoring/errors.ts";
export type { PlacementErrorCode } from "./scoring/errors.ts";
export type { Explanation, ExplanationInputs, InputAges, NeutralPart } from "./scoring/explanation.ts";
export type { ApiObject } from "./feasibility/objects/json.ts";
export type { FeasiblePlanProblem, PlanInput } from "./feasibility/planning/plan-input.ts";
export { planProblem } from "./feasibility/planning/plan-problem.ts";
export { inQueueOrder } from "./feasibility/queue-order.ts";
export type { QueueInput, QueueOrder, QueueStep } from "./feasibility/queue-order.ts";
export { SchedulingModel } from "./feasibility/scheduling-model.ts";
export type { ClusterObjects } from "./feasibility/scheduling-model.ts";
export { DEFAULT_SPREAD } from "./feasibility/objects/spread-limits.ts";
export type { SpreadLimits } from "./feasibility/objects/spread-limits.ts";
export { FILTER_PLUGINS } from "./feasibility/objects/verdict.ts";
export type { FilterPlugin, Rejection } from "./feasibility/objects/verdict.ts";
export {
  moveCostOf,
  planVerdict,
  runningWorkflow,
  workflowPlan,
  workflowPlanReport,
} from "./feasibility/planning/workflow-plan.ts";
export type {
  PlannedMove,
  PreviousMoves,
  RunningWorkflow,
  WorkflowPlanInput,
  WorkflowPlanReport,
} from "./feasibility/planning/workflow-plan.ts";
export { headroomViolations, nodesBeyondLimits, rejectedNodes } from "./scoring/limits.ts";
export type { LimitOptions } from "./scoring/limits.ts";
export { bandwidthViolations, networkLimitViolations } from "./scoring/network-limits.ts";
export {
  createNetworkOverhead,
  NETWORK_OVERHEAD,
  NETWORK_OVERHEAD_MODES,
  StrictNetworkOverhead,
  UpstreamNetworkOverhead,
} from "./network-overhead/network-overhead.ts";
export type { NetworkOverheadMode } from "./network-overhead/network-overhead.ts";
export { readAppGroupSpec } from "./order/app-group-spec.ts";
export type { AppGroupSpec, GroupDependency, GroupWorkload, WorkloadInfo } from "./order/app-group-spec.ts";
export { faultText, ORDER_FAULT_CODES } from "./order/order-fault.ts";
export type { FaultPath, OrderFault, OrderFaultCode } from "./order/order-fault.ts";
export { isSortAlgorithm, SORT_ALGORITHMS } from "./order/sort-algorithms.ts";
export type { SortAlgorithm } from "./order/sort-algorithms.ts";
export { workloadOrder } from "./order/workload-order.ts";
export type { OrderedWorkload, WorkloadOrder } from "./order/workload-order.ts";
export { EXACT_PAIRS, exactPlan } from "./planner/exact/exact-plan.ts";
export type { ExactOptions, ExactPlan } from "./planner/exact/exact-plan.ts";
export { createObjective } from "./planner/objective/objective.ts";
export type { Objective, PlanCost } from "./planner/objective/objective.ts";
export { plan } from "./planner/search/plan.ts";
export type { Plan, PlanOptions } from "./planner/search/plan.ts";
export type {
  ApartConstraint,
  DomainConstraint,
  PlanNode,
  PlanPod,
  PlanProblem,
  SpanConstraint,
  SpreadConstraint,
  TogetherConstraint,
} from "./planner/objective/plan-problem.ts";
export { DEFAULT_PLAN_SETTINGS } from "./planner/objective/plan-settings.ts";
export { peerCosts, replicasOn } from "./scoring/peer-costs.ts";
export type { PeerCost, PeerCosts } from "./scoring/peer-costs.ts";
export type { PlanSettings } from "./planner/objective/plan-settings.ts";
export type { UnplacedPod } from "./planner/search/reasons.ts";
export type {
  AmountsByNode,
  AssumedPod,
  GraphInput,
  PlacementProblem,
  PodToPlace,
  ResourceAmounts,
} from "./scoring/problem.ts";
export { CombinedStrategy } from "./scoring/combined-strategy.ts";
export type { WeighedStrategy } from "./scoring/combined-strategy.ts";
export { CHANNEL_TYPES, ChannelTypes } from "./communication-affinity/channel-types.ts";
export type { ChannelType, DeclaredType } from "./communication-affinity/channel-types.ts";
export {
  COMMUNICATION_AFFINITY,
  CommunicationAffinity,
  DEFAULT_AFFINITY,
} from "./communication-affinity/communication-affinity.ts";
export type {
  CommunicationAffinityOptions,
  CommunicationAffinityParameters,
} from "./communication-affinity/communication-affinity.ts";
export { createStrategy, resolvedProfile, STRATEGIES, STRATEGY_MODES } from "./profile.ts";
export type { ResolvedProfile, StrategyName, StrategyProfile } from "./profile.ts";
export { DEFAULT_WEIGHTS, RESOURCE_NETWORK, ResourceNetwork } from "./resource-network/resource-network.ts";
export type { ResourceNetworkWeights } from "./resource-network/resource-network.ts";
export { Proximity, ROUTING_SCOPES, routingScopes } from "./scoring/routing.ts";
export type { Place } from "./scoring/routing.ts";
export {
  allCandidates,
  bestRow,
  candidateAt,
  keptRows,
  NEUTRAL_SCORE,
  rank,
  RANKED_ROWS,
  rankedTable,
} from "./scoring/score-table.ts";
export type { ScoreTable } from "./scoring/score-table.ts";
export { COMBINATION_MODES } from "./scoring/strategy.ts";
export { workflowLatency, workflowTraffic } from "./scoring/workflow-latency.ts";
export type { WorkflowLatency } from "./scoring/workflow-latency.ts";
export type { CombinationMode, Strategy } from "./scoring/strategy.ts";

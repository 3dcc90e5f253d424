export { ClusterGraph, UNKNOWN_COST, UNREACHABLE_COST } from "./cluster-graph.ts";
export { STALE_AFTER_WINDOWS } from "./cost.ts";
export type {
  Cost,
  CostEstimator,
  CostOptions,
  DeclaredAreaCosts,
  KnownCost,
  UnknownCost,
  UnknownReason,
} from "./cost.ts";
export { GraphClientError, SnapshotError, TOPOLOGY_ERROR_CODES, TopologyError } from "./errors.ts";
export type { TopologyErrorCode } from "./errors.ts";
export {
  CandidateSchema,
  ChannelSchema,
  ClusterGraphSchema,
  ClusterNodeSchema,
  DecisionListSchema,
  DecisionSchema,
  GraphEventSchema,
  LinkSchema,
  MethodSchema,
  OriginSchema,
  PodPlacementSchema,
  ProbePeerSchema,
  ProbePlanSchema,
  ProblemSchema,
  WorkflowGraphSchema,
  WorkflowListSchema,
  WorkloadSchema,
} from "./schema.ts";
export type {
  Candidate,
  Channel,
  ClusterGraphSnapshot,
  ClusterNode,
  Decision,
  DecisionList,
  GraphEvent,
  Link,
  Origin,
  PodPlacement,
  ProbePeer,
  ProbePlan,
  Problem,
  WorkflowGraphSnapshot,
  WorkflowList,
  Workload,
} from "./schema.ts";
export { median } from "./statistics.ts";
export { parseClusterGraph, parseWorkflowGraph } from "./validation.ts";
export { WorkflowGraph } from "./workflow-graph.ts";
export type { PodOfWorkload } from "./workflow-graph.ts";

export {
  ANNOTATED_BY,
  ANNOTATION_NAMES,
  DEFAULT_ANNOTATION_PREFIX,
  DEFAULT_ANNOTATION_PREFIXES,
  isNodeAnnotation,
  isWorkloadAnnotation,
} from "./annotations/names.ts";
export type { AnnotatedPeer } from "./annotations/names.ts";
export { readNodeAnnotations, readWorkloadAnnotations } from "./annotations/read.ts";
export type {
  AnnotationFault,
  RawAnnotations,
  ReadNodeAnnotations,
  ReadTraffic,
  ReadWorkloadAnnotations,
} from "./annotations/read.ts";
export { annotatedCluster, ANNOTATIONS_STALE_AFTER_SECONDS } from "./annotations/snapshot.ts";
export type { AnnotatedCluster, AnnotatedClusterOptions, AnnotatedNode } from "./annotations/snapshot.ts";
export { markText, readMark } from "./annotations/writer-mark.ts";
export type { Writer, WriterMark } from "./annotations/writer-mark.ts";
export { writeNodeAnnotations, writeWorkloadAnnotations } from "./annotations/write.ts";
export type { AnnotationTexts, NodeFigures, WorkloadFigures } from "./annotations/write.ts";
export {
  APP_GROUP_LABELS,
  appGroupLabels,
  AppGroupMembers,
  hasPodsIn,
  readAppGroup,
  unmatchedSelectors,
  unmatchedText,
} from "./app-groups.ts";
export type {
  AppGroupDependency,
  AppGroupId,
  AppGroupMember,
  AppGroupText,
  WorkloadReference,
} from "./app-groups.ts";
export { ClusterGraph, UNKNOWN_COST, UNREACHABLE_COST } from "./cluster-graph.ts";
export { coordinateEstimator, DEFAULT_METHOD_ORDER, STALE_AFTER_WINDOWS } from "./cost.ts";
export type {
  Cost,
  CostEstimator,
  CostOptions,
  DeclaredAreaCosts,
  KnownCost,
  UnknownCost,
  UnknownReason,
} from "./cost.ts";
export {
  boundedDemands,
  DECLARATION_REFUSALS,
  DECLARATION_RIGHT,
  DeclarationRights,
  fairLimit,
  isWorkloadName,
  MAX_DECLARED_BANDWIDTH,
  NO_NETWORK_LIMIT,
  OWN_NAMESPACE_ONLY,
  resolveDeclarations,
} from "./declarations.ts";
export type {
  ChannelDeclaration,
  ChannelDemands,
  DeclarationRefusal,
  DeclaredChannel,
  DeclaredWorkload,
  ResolvedDeclarations,
} from "./declarations.ts";
export { declaredAreaCosts, readNetworkTopology } from "./declared-costs.ts";
export type { ReadNetworkTopology } from "./declared-costs.ts";
export { NETWORK_TOPOLOGY_KEYS, networkTopologyWeights } from "./network-topology.ts";
export type {
  DeclarationFault,
  NetworkTopologyArea,
  NetworkTopologyEntry,
  NetworkTopologyWeights,
} from "./network-topology.ts";
export {
  CandidateSchema,
  DecisionKindSchema,
  DecisionListSchema,
  DecisionSchema,
} from "./decision-schema.ts";
export type {
  Binding,
  Candidate,
  Decision,
  DecisionKind,
  DecisionList,
  DecisionNow,
  DecisionProfile,
  LinkChange,
  Peer,
  Rtt,
} from "./decision-schema.ts";
export { clusterColumnsOf } from "./cluster-columns.ts";
export {
  ClusterColumnsSchema,
  GraphHistorySchema,
  HealthSchema,
  LinkDistributionsSchema,
  LinkHistorySchema,
  ReplicaHealthSchema,
} from "./operation-schema.ts";
export type {
  ClusterColumns,
  GraphHistory,
  Health,
  LinkDistributions,
  LinkHistory,
  ReplicaHealth,
} from "./operation-schema.ts";
export { GraphClientError, SnapshotError, TOPOLOGY_ERROR_CODES, TopologyError } from "./errors.ts";
export type { TopologyErrorCode } from "./errors.ts";
export {
  BandwidthLeaseAnswerSchema,
  BandwidthLeaseRequestSchema,
  BandwidthLeaseSchema,
  ChannelSchema,
  ClusterGraphSchema,
  ClusterNodeSchema,
  CoordinateFitSchema,
  DeclaredCostsSchema,
  GraphEventSchema,
  LinkSchema,
  MethodSchema,
  OriginSchema,
  PodPlacementSchema,
  ProbePeerSchema,
  ProbePlanSchema,
  ProblemSchema,
  RoutingSchema,
  RoutingScopeSchema,
  WorkflowGraphSchema,
  WorkflowListSchema,
  WorkloadSchema,
} from "./schema.ts";
export type {
  BandwidthLease,
  BandwidthLeaseAnswer,
  BandwidthLeaseRequest,
  Channel,
  ClusterGraphSnapshot,
  ClusterNode,
  CoordinateFit,
  DeclaredCosts,
  GraphEvent,
  Link,
  Origin,
  PodPlacement,
  ProbePeer,
  ProbePlan,
  Problem,
  Routing,
  RoutingScope,
  WorkflowGraphSnapshot,
  WorkflowList,
  Workload,
} from "./schema.ts";
export { addedAmount, figureOrNull, isFigure, MAX_AMOUNT, MAX_FIGURE } from "./figures.ts";
export { seeded } from "./seeded.ts";
export type { Draw } from "./seeded.ts";
export { droppedElements, NOTHING_DROPPED, readClusterGraph, readWorkflowGraph } from "./tolerant.ts";
export type { Dropped, DroppedKind, Read } from "./tolerant.ts";
export { parseClusterGraph, parseWorkflowGraph } from "./validation.ts";
export { WorkflowGraph } from "./workflow-graph.ts";
export type { PodOfWorkload } from "./workflow-graph.ts";

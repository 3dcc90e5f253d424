export {
  ANNOTATED_BY,
  DEFAULT_ANNOTATION_PREFIX,
  DEFAULT_ANNOTATION_PREFIXES,
  isNodeAnnotation,
  PLANNED_NODE_ANNOTATION,
  isWorkloadAnnotation,
} from "./annotations/names.ts";
export { readNodeAnnotations, readWorkloadAnnotations } from "./annotations/read.ts";
export type {
  AnnotationFault,
  RawAnnotations,
  ReadNodeAnnotations,
  ReadTraffic,
  ReadWorkloadAnnotations,
} from "./annotations/read.ts";
export { annotatedCluster, ANNOTATIONS_STALE_AFTER_SECONDS } from "./annotations/snapshot.ts";
export type { AnnotatedNode } from "./annotations/snapshot.ts";
export { markText, readMark } from "./annotations/writer-mark.ts";
export type { Writer, WriterMark } from "./annotations/writer-mark.ts";
export { writeNodeAnnotations, writeWorkloadAnnotations } from "./annotations/write.ts";
export type { NodeFigures, WorkloadFigures } from "./annotations/write.ts";
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
export { ClusterGraph } from "./cluster-graph.ts";
export { DEFAULT_METHOD_ORDER, STALE_AFTER_WINDOWS } from "./cost.ts";
export type { DeclaredAreaCosts } from "./cost.ts";
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
} from "./declarations.ts";
export { declaredAreaCosts, readNetworkTopology } from "./declared-costs.ts";
export { NETWORK_TOPOLOGY_KEYS, networkTopologyWeights } from "./network-topology.ts";
export type { Act, ActKind, ActList } from "./decision-schema.ts";
export {
  ActKindSchema,
  ActListSchema,
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
} from "./operation-schema.ts";
export type {
  ClusterColumns,
  Departures,
  GraphHistory,
  Health,
  LinkDistributions,
  LinkHistory,
  ReplicaHealth,
} from "./operation-schema.ts";
export { SnapshotError, TopologyError } from "./errors.ts";
export {
  BandwidthLeaseAnswerSchema,
  BandwidthLeaseRequestSchema,
  ClusterGraphSchema,
  ProbePlanSchema,
  ProblemSchema,
  WorkflowGraphSchema,
  WorkflowListSchema,
} from "./schema.ts";
export type {
  Channel,
  ClusterGraphSnapshot,
  ClusterNode,
  CoordinateFit,
  DeclaredCosts,
  GraphEvent,
  Link,
  PodPlacement,
  ProbePlan,
  RoutingScope,
  WorkflowGraphSnapshot,
  WorkflowList,
  Workload,
} from "./schema.ts";
export { addedAmount, figureOrNull } from "./figures.ts";
export { droppedElements } from "./tolerant.ts";
export type { Dropped, DroppedKind } from "./tolerant.ts";
export { routingScopes, WorkflowGraph } from "./workflow-graph.ts";
export type { Bill, BillAmount, BillHistory, BillReason, BillZone, PriceList } from "./bill/bill.ts";
export type { Savings, SavingsLine, SavingsOption } from "./bill/savings.ts";
export { DemandSchema, parseDemand } from "./demand/demand.ts";
export type { Demand, ServiceDemand, ZoneDemand } from "./demand/demand.ts";
export { parseReplicaReport, ReplicaReportSchema } from "./demand/replicas.ts";
export type { ReplicaReport } from "./demand/replicas.ts";
export {
  parseServiceTraffic,
  ServiceTrafficListSchema,
  TrafficSchema,
  type ServiceTraffic,
  type TrafficSnapshot,
  type ZoneTraffic,
} from "./demand/traffic.ts";
export {
  FLOW_PLAN_BOUNDS,
  FlowPlanSchema,
  parseFlowPlan,
  parseFlowPlans,
  type FlowNeighbour,
  type FlowPlan,
  type PlannedFlow,
} from "./flows/flow-plan.ts";
export type { OutsideFlow } from "./flows/measured-flows.ts";
export {
  parseStreamJobs,
  streamFlowId,
  StreamJobListSchema,
  StreamsSchema,
  type StreamJobView,
  type StreamLinkView,
  type StreamsSnapshot,
} from "./flows/streams.ts";
export { parseClusterGraph, parseWorkflowGraph } from "./validation.ts";

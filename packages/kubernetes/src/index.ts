export {
  bandwidthAnnotations,
  bandwidthNeeds,
  EGRESS_BANDWIDTH,
  INGRESS_BANDWIDTH,
} from "./store/bandwidth.ts";
export type { ReplicasOf } from "./store/bandwidth.ts";
export { trustedBy, type CertificateBundle, type KeyPair } from "./certificates/bundle.ts";
export { ClientCertificateKeeper } from "./certificates/client-keeper.ts";
export { CertificateKeeper, type CertificateEvents } from "./certificates/keeper.ts";
export { besideSecret, CERTIFICATE_SETTINGS } from "./certificates/settings.ts";
export {
  certificateStore,
  createServedCertificatesMetrics,
  ServedCertificates,
} from "./certificates/served-certificates.ts";
export { issueCertificate, makeAuthority } from "./certificates/x509.ts";
export {
  CHANNELS_ANNOTATION,
  formatChannels,
  GENERATED_ANNOTATION,
  isGeneratedAppGroup,
  MAX_CHANNELS_CHARACTERS,
} from "./store/channels-annotation.ts";
export type { AnnotatedChannel } from "./store/channels-annotation.ts";
export {
  deadlineOf,
  DISPATCH_ANNOTATIONS,
  dispatchOrderOf,
  replicaModeOf,
  replicaOrderOf,
  isDispatched,
  unspreadReason,
} from "./store/dispatch-annotations.ts";
export type { DispatchLever, ReplicaMode } from "./store/dispatch-annotations.ts";
export {
  addressTypeOf,
  isOwnSlice,
  readyEndpoints,
  serviceOfSlice,
  trimmedSlice,
  zonesHinted,
} from "./store/endpoint-slices.ts";
export { conditionsOf, hasCondition, withConditions } from "./store/conditions.ts";
export { isStoreError, StoreError } from "./store/errors.ts";
export { createEventRecorder } from "./events.ts";
export type { EventDropReason, EventRecorder, EventRecorderOptions, ReportedEvent } from "./events.ts";
export { createInformer } from "./store/informer.ts";
export type { Informer, InformerChange } from "./store/informer.ts";
export { candidacy, SharedLeadership } from "./leadership.ts";
export type { CandidateOptions, ElectedLeadership, Leadership, Membership } from "./leadership.ts";
export type { LeaderElection } from "./leases/lease-election.ts";
export { ELECTION_DEFAULTS } from "./leases/lease-options.ts";
export { readLease } from "./leases/lease-record.ts";
export type { LeaseHolder, LeaseRecord } from "./leases/lease-record.ts";
export { jsonPatched } from "./store/json-patch.ts";
export { LABELS, matchesLabels, matchesSelector, workflowOf } from "./store/labels.ts";
export { appliedMovesPatch, readAppliedMoves } from "./store/applied-moves.ts";
export type { AppliedMove } from "./store/applied-moves.ts";
export {
  moveOwnerOf,
  MOVE_TO_ANNOTATION,
  moveRecordPatch,
  movesDonePatch,
  readLastMove,
  readMoveRecords,
} from "./store/move-record.ts";
export type { LastMove, MoveRecord } from "./store/move-record.ts";
export {
  narrowedAffinity,
  PLANNED_AMONG_ANNOTATION,
  preferringAffinity,
  withoutPlannedNodes,
} from "./store/planned-affinity.ts";
export type { LandingNode } from "./store/planned-affinity.ts";
export { keyOf, timestamp } from "./store/objects.ts";
export { pickedFields } from "./store/picked-fields.ts";
export type { LooseFields, Unchecked } from "@isochrone/primitives";
export {
  BANDWIDTH_ANNOTATE,
  BANDWIDTH_KEY,
  GATE_DEADLINE_MS,
  gatesOf,
  hasOurGate,
  isOnlyOurGate,
  jsonPatchOpeningGate,
  openGate,
  PLACEMENT_DISABLED,
  PLACEMENT_ENABLED,
  PLACEMENT_GATE,
  PLACEMENT_LABEL,
  PLANNER_HEARTBEAT_MAX_AGE_MS,
  PLANNER_HEARTBEAT_MS,
  PLANNER_LEASE,
  STREAM_GATE,
  WEBHOOK_ANSWER,
  WEBHOOK_CONFIGURATION,
  WEBHOOK_REMOVED_AT,
  WEBHOOK_SECRET,
} from "./store/placement-gate.ts";
export type { GateOpening } from "./store/placement-gate.ts";
export { KINDS } from "./kinds.ts";
export type {
  Affinity,
  AppGroupDependency,
  AppGroupSpec,
  AppGroupWorkload,
  AppGroupWorkloadRef,
  Container,
  ContainerPort,
  ContainerStatus,
  DeploymentSpec,
  PodVolume,
  LoadBalancer,
  LocalityLbSetting,
  MatchCondition,
  LabelExpression,
  LabelSelector,
  NetworkTopology,
  NodeSpec,
  NodeStatus,
  PodSpec,
  PodStatus,
  PodTemplate,
  Secret,
  ServiceSpec,
  TrafficPolicy,
  Webhook,
} from "./kinds.ts";
export type {
  ClusterStore,
  Detail,
  JsonPatchOperation,
  KindRef,
  KubernetesObject,
  ObjectMeta,
  ObjectRef,
  OwnerReference,
} from "./store/port.ts";
export {
  MOVING_ANNOTATION,
  readRelease,
  releasePatch,
  restorePatch,
  TEMPLATE_HASH_LABEL,
} from "./store/released-pod.ts";
export type { PodRelease } from "./store/released-pod.ts";
export { electionTiming, identityOfLife, REPLICA_SETTINGS } from "./leases/replica-settings.ts";
export {
  trimmedNode,
  trimmedPod,
  trimmedReplicaSet,
  trimmedWorkload,
  withoutLastApplied,
} from "./store/trims.ts";
export { isDnsLabel, isDnsSubdomain, isLabelValue, isQualifiedName } from "./store/validation.ts";
export { nodeView, podView, templateLabels } from "./store/views.ts";
export type { PodView } from "./store/views.ts";
export { fencedStore, leaderStore } from "./leases/write-fence.ts";
export { ALIAS_ANNOTATIONS, ALIAS_LABELS, meshNames } from "./store/workload-aliases.ts";
export { STREAM_TASK_LABEL, streamWorkloadName, WORKLOAD_LABELS, workloadOf } from "./store/workloads.ts";

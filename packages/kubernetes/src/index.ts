export { bandwidthAnnotations, bandwidthLimits, EGRESS_BANDWIDTH, INGRESS_BANDWIDTH } from "./bandwidth.ts";
export type { BandwidthLimits, ReplicasOf } from "./bandwidth.ts";
export {
  expiryMs,
  type CertificateBundle,
  type CertificateStep,
  type KeyPair,
} from "./certificates/bundle.ts";
export { trustedBy } from "./certificates/bundle.ts";
export { configMapPublication } from "./certificates/config-map.ts";
export { ClientCertificateKeeper } from "./certificates/client-keeper.ts";
export type { ClientCertificateOptions } from "./certificates/client-keeper.ts";
export { CertificateKeeper } from "./certificates/keeper.ts";
export { CERTIFICATE_SETTINGS } from "./certificates/settings.ts";
export type { CertificateEvents, TrustPublication } from "./certificates/keeper.ts";
export { issueCertificate, makeAuthority } from "./certificates/x509.ts";
export {
  CHANNELS_ANNOTATION,
  formatChannels,
  GENERATED_ANNOTATION,
  MAX_CHANNELS_CHARACTERS,
  parseChannels,
} from "./channels-annotation.ts";
export type { AnnotatedChannel, ChannelEnd } from "./channels-annotation.ts";
export { conditionsOf, hasCondition, withConditions } from "./conditions.ts";
export type { Condition } from "./conditions.ts";
export { isStoreError, STORE_ERROR_CODES, StoreError } from "./errors.ts";
export type { StoreErrorCode } from "./errors.ts";
export { createEventRecorder } from "./events.ts";
export type {
  EventCounts,
  EventDropReason,
  EventRecorder,
  EventRecorderOptions,
  EventSubject,
  ReportedEvent,
} from "./events.ts";
export { createInformer } from "./informer.ts";
export type { Informer, InformerChange, InformerOptions } from "./informer.ts";
export { candidacy, SharedLeadership } from "./leadership.ts";
export type {
  CandidateOptions,
  ElectedLeadership,
  Leadership,
  LeadershipListener,
  Membership,
} from "./leadership.ts";
export { createLeaderElection } from "./lease-election.ts";
export type { LeaderElection, LeaderElectionOptions } from "./lease-election.ts";
export { ELECTION_DEFAULTS } from "./lease-options.ts";
export type { ElectionTiming } from "./lease-options.ts";
export { readLease } from "./lease-record.ts";
export type { LeaseHolder, LeaseRecord } from "./lease-record.ts";
export { jsonPatched } from "./json-patch.ts";
export { LABELS, matchesLabels, matchesSelector, workflowOf } from "./labels.ts";
export {
  LAST_MOVE_ANNOTATION,
  moveOwnerOf,
  moveRecordPatch,
  MOVES_ANNOTATION,
  movesDonePatch,
  readLastMove,
  readMoveRecords,
  redeemableMove,
} from "./move-record.ts";
export type { LastMove, MoveRecord } from "./move-record.ts";
export { keyOf, timestamp } from "./objects.ts";
export { looseFields, looseList, looseText, pickedFields } from "./loose.ts";
export type { LooseFields, Unchecked } from "./loose.ts";
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
  WEBHOOK_ANSWER,
  WEBHOOK_CONFIGURATION,
  WEBHOOK_REMOVED_AT,
  WEBHOOK_SECRET,
} from "./placement-gate.ts";
export type { GateOpening } from "./placement-gate.ts";
export { KINDS } from "./kinds.ts";
export type {
  Affinity,
  AppGroupDependency,
  AppGroupSpec,
  AppGroupWorkload,
  AppGroupWorkloadRef,
  ConfigMap,
  Container,
  ContainerPort,
  ContainerStatus,
  DeploymentSpec,
  PodVolume,
  DestinationRule,
  LoadBalancer,
  LocalityLbSetting,
  MatchCondition,
  LabelExpression,
  LabelSelector,
  Lease,
  NetworkTopology,
  Node,
  NodeSpec,
  NodeStatus,
  ObjectOf,
  Pod,
  PodSpec,
  PodStatus,
  PodTemplate,
  Secret,
  Service,
  ServiceSpec,
  TrafficPolicy,
  Webhook,
} from "./kinds.ts";
export type {
  ApplyOptions,
  ClusterStore,
  Detail,
  FieldSelector,
  InformerObserver,
  JsonPatchOperation,
  KindRef,
  KubernetesObject,
  ListOptions,
  ObjectList,
  ObjectMeta,
  ObjectRef,
  OwnerReference,
  Preconditions,
  UntypedStore,
  WatchEvent,
  WriteOptions,
} from "./port.ts";
export { electionTiming, identityOfLife, REPLICA_SETTINGS } from "./replica-settings.ts";
export { trimmedNode, trimmedPod, trimmedReplicaSet, trimmedWorkload, withoutLastApplied } from "./trims.ts";
export { isDnsLabel, isDnsSubdomain, isLabelValue, isNamespaced, isQualifiedName } from "./validation.ts";
export { nodeView, podView, templateLabels } from "./views.ts";
export type { NodeView, PodView } from "./views.ts";
export { fencedStore, leaderStore } from "./write-fence.ts";
export type { WriteFence } from "./write-fence.ts";
export { workloadOf } from "./workloads.ts";
export type { ReplicaSetLookup, WorkloadRef } from "./workloads.ts";

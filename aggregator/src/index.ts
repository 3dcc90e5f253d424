export { createAggregator } from "./aggregator.ts";
export type { Aggregator } from "./aggregator.ts";
export type { AggregatorDependencies } from "./dependencies.ts";
export { FileKeyStore } from "./keys/file-key-store.ts";
export { MemoryKeyStore } from "./keys/memory-key-store.ts";
export { SecretKeyStore } from "./keys/secret-key-store.ts";
export { DEPENDENCIES_ANNOTATION } from "./adapters/declared-channels.ts";
export { EMPTY_CLUSTER } from "./domain/cluster-state.ts";
export type {
  ClusterState,
  NamespacedName,
  NodeState,
  PodState,
  WorkloadState,
} from "./domain/cluster-state.ts";
export { EventHistory } from "./domain/graphs/event-history.ts";
export { Ingest } from "./domain/ingest/ingest.ts";
export type { IncomingRecord, IngestOptions, OnRefused } from "./domain/ingest/ingest.ts";
export type { IngestCounts, Refused } from "./domain/ingest/ingest-counts.ts";
export { IN_DEGREE_FACTOR } from "./probing/domain/rule.ts";
export type { PeerRule, PlanNode } from "./probing/domain/rule.ts";
export { PeerAssignment } from "./probing/domain/peer-assignment.ts";
export type { AssignmentFigures } from "./probing/domain/peer-assignment.ts";
export { createSharedMetrics } from "./intake/intake-metrics.ts";
export type { IntakeMetrics, SharedMetrics } from "./intake/intake-metrics.ts";
export { SharedIntake } from "./intake/shared-intake.ts";
export type { SharedIntakeOptions } from "./intake/shared-intake.ts";
export { Tables } from "./domain/graphs/tables.ts";
export type { TableLimits } from "./domain/graphs/tables.ts";
export type { WindowName, WindowShape } from "./domain/windows/window-shape.ts";
export {
  AGGREGATOR_ERROR_CODES,
  AggregatorError,
  KEY_STORE_ERROR_CODES,
  KeyStoreError,
} from "./ports/errors.ts";
export type { AggregatorErrorCode, KeyStoreErrorCode } from "./ports/errors.ts";
export { GraphKeeper } from "./domain/graphs/graph-keeper.ts";
export type { GraphListener, PublishedGraphs } from "./domain/graphs/graph-keeper.ts";
export type {
  HmacKey,
  HmacKeySet,
  KeyStore,
  PageAssets,
  ProbeAddress,
  ProbeAddresses,
  StoredKeys,
} from "./ports/ports.ts";
export { aggregatorSettings } from "./settings.ts";
export type { AggregatorConfig } from "./settings.ts";
export { openAccess } from "./http/access.ts";
export type { AccessSurroundings } from "./http/access.ts";
export { certificateSettings } from "./http/certificate-settings.ts";
export { clusterControllerSections, createClusterControllers } from "./cluster-controllers.ts";
export type { ClusterControllersConfig, ClusterControllersDependencies } from "./cluster-controllers.ts";
export type { AnnotatedObjects } from "./writers/annotation-planner.ts";
export { ANNOTATE_LABEL } from "./writers/annotation-round.ts";
export { FIELD_MANAGER } from "./writers/object-writer.ts";
export type { Ownership } from "./writers/ownership.ts";
export { annotationSettings } from "./writers/settings.ts";
export type { AnnotationConfig } from "./writers/settings.ts";
export { createWriters } from "./writers/writers.ts";
export type { WriterDependencies } from "./writers/writers.ts";
export { AGGREGATOR_LEASE, leaderStore } from "./replication/leadership.ts";
export { KeyKeeper } from "./keys/key-keeper.ts";
export type { KeyCounts, KeyKeeperOptions } from "./keys/key-keeper.ts";
export { accessSettings } from "@isochrone/kubernetes/access";
export { SpeakerPolicy } from "./domain/speakers/policy.ts";
export { createUnprovenCounter } from "./record-keys/metrics.ts";
export { RecordKeys } from "./record-keys/record-keys.ts";
export { RecordSeals } from "./record-keys/record-seals.ts";

export { createAggregator } from "./aggregator.ts";
export type { Aggregator, AggregatorDependencies } from "./aggregator.ts";
export { DEPENDENCIES_ANNOTATION } from "./adapters/declared-channels.ts";
export { EMPTY_CLUSTER } from "./domain/cluster-state.ts";
export type {
  ClusterState,
  DeclaredChannel,
  NamespacedName,
  NodeState,
  PodState,
  WorkloadState,
} from "./domain/cluster-state.ts";
export { EventHistory } from "./domain/event-history.ts";
export { Ingest } from "./domain/ingest.ts";
export type { IncomingRecord, IngestOptions, OnRefused } from "./domain/ingest.ts";
export type { IngestCounts, Refused } from "./domain/ingest-counts.ts";
export { Tables } from "./domain/tables.ts";
export type { TableLimits } from "./domain/tables.ts";
export type { WindowName, WindowShape } from "./domain/window-shape.ts";
export { AGGREGATOR_ERROR_CODES, AggregatorError } from "./errors.ts";
export type { AggregatorErrorCode } from "./errors.ts";
export { GraphKeeper } from "./graph-keeper.ts";
export type { GraphListener, PublishedGraphs } from "./graph-keeper.ts";
export type { PageAssets, ProbeAddress, ProbeAddresses } from "./ports.ts";
export { aggregatorSettings } from "./settings.ts";
export type { AggregatorConfig } from "./settings.ts";

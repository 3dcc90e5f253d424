export { EmulatedNetwork } from "./network/emulated-network.ts";
export type { EmulatedNetworkOptions, ExposedPort, NetworkTruth } from "./network/emulated-network.ts";
export type { Addressing, SocketAddress } from "./network/addresses.ts";
export { applyChange, IDEAL_LINK, oneWayLossRatio } from "./network/links.ts";
export type { LinkChange, LinkMatrix, LinkSettings } from "./network/links.ts";
export type { PairRecord, Protocol, TrafficRecord } from "./network/record.ts";
export { RECORD_DEPTH_MS } from "./network/record.ts";
export { defaultSites, MAX_DEFAULT_SITES } from "./network/sites.ts";
export type { NetworkSite } from "./network/sites.ts";
export { defaultMatrix, loadMatrix, parseMatrix } from "./network/matrix-file.ts";
export type { RttMatrix } from "./network/matrix-file.ts";
export { defaultLinks } from "./network/default-links.ts";
export { matrixOfZones } from "./network/zone-matrix.ts";
export { NETWORK_ERROR_CODES, NetworkError } from "./network/errors.ts";
export type { NetworkErrorCode } from "./network/errors.ts";
export { createLabControl } from "./control.ts";
export { newControlToken, readControlToken, storeControlToken } from "./control-token.ts";
export type { StoredToken } from "./control-token.ts";
export type {
  ClusterReport,
  LabControl,
  LabControlOptions,
  LinkAnswer,
  LinkRequest,
  MetricsPage,
  RecordAnswer,
} from "./control.ts";
export { LabClient, LabClientError } from "./lab-client.ts";
export type { LabClientOptions } from "./lab-client.ts";
export { CLUSTER_ERROR_CODES, ClusterError, ExtenderError, ManifestError } from "./cluster/index.ts";
export { BEHAVIOUR, readBehaviour, WORKFLOW_LABEL } from "./cluster/index.ts";
export { NotReadyError, PodProcessError, SiteError } from "./cluster/index.ts";
export { LabCluster, loadManifest, loseNode, readManifest, SAMPLE_MANIFEST } from "./cluster/index.ts";
export { Scheduler } from "./cluster/index.ts";
export type {
  Behaviour,
  CallOptions,
  ClusterErrorCode,
  CpuBudget,
  EndToEnd,
  ExtenderConfig,
  LabClusterOptions,
  LabPod,
  LoadPlan,
  LostNodeOptions,
  ManifestProblem,
  Move,
  NodePort,
  Placement,
  PodNetwork,
  RawStretch,
  ReceiverCount,
  RePlaceOptions,
  RunnerOptions,
  Site,
  WorkflowManifest,
  WorkflowWorkload,
} from "./cluster/index.ts";

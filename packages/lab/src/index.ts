export { EmulatedNetwork } from "./network/emulated-network.ts";
export { RelayKeeper } from "./network/keep-relay.ts";
export { IDEAL_LINK } from "./network/links.ts";
export type { LinkMatrix } from "./network/links.ts";
export { REGION_MS, tableSites, ZONE_MS } from "./network/table-sites.ts";
export type { TableSites } from "./network/table-sites.ts";
export { defaultSites, rowsByName } from "./network/sites.ts";
export type { NetworkSite } from "./network/sites.ts";
export { loadMatrix, loadTable } from "./network/matrix-file.ts";
export type { RttMatrix } from "./network/matrix-file.ts";
export { defaultLinks } from "./network/default-links.ts";
export { matrixOfZones } from "./network/zone-matrix.ts";
export { NetworkError } from "./network/errors.ts";
export { createLabControl } from "./control.ts";
export { newControlToken, storeControlToken, storePage } from "./control-token.ts";
export type { MetricsPage, StoreAnswer, StoreCall } from "./control.ts";
export { addLinkRoutes } from "./link-routes.ts";
export type { LinkRoutesOptions } from "./link-routes.ts";
export { LabTimeline } from "./timeline.ts";
export {
  admittingSlices,
  BEHAVIOUR,
  LOAD_PATH,
  readBehaviour,
  WORKFLOW_LABEL,
  ZoneUsers,
} from "./cluster/index.ts";
export { NodeView, NotReadyError } from "./cluster/index.ts";
export { LabCluster, loadManifest, loseNode, readManifest, SAMPLE_MANIFEST } from "./cluster/index.ts";
export type {
  EndToEnd,
  RangeMs,
  ExtenderConfig,
  LabPod,
  LoadPlan,
  Move,
  PodNetwork,
  Site,
  WorkflowManifest,
} from "./cluster/index.ts";

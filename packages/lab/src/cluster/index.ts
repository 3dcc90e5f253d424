export {
  CLUSTER_ERROR_CODES,
  ClusterError,
  ExtenderError,
  ManifestError,
  NotReadyError,
  PodProcessError,
  SiteError,
} from "./errors.ts";
export type { ClusterErrorCode, ManifestProblem } from "./errors.ts";
export type { ReceiverCount } from "./kubelet/ledger.ts";
export type { RunnerOptions } from "./kubelet/pod-runner.ts";
export { LabCluster } from "./lab-cluster.ts";
export type { LabClusterOptions } from "./lab-cluster.ts";
export type { LabPod } from "./lab-pod.ts";
export type { CpuBudget } from "./kubelet/node-cpu.ts";
export type { EndToEnd, LoadPlan, RawStretch } from "./load/protocol.ts";
export { loseNode } from "./controllers/lost-node.ts";
export type { LostNodeOptions } from "./controllers/lost-node.ts";
export { readBehaviour } from "./manifest/behaviour.ts";
export { BEHAVIOUR, WORKFLOW_LABEL } from "./names.ts";
export type { Behaviour, CallOptions, WorkflowManifest, WorkflowWorkload } from "./manifest/model.ts";
export { loadManifest, readManifest, SAMPLE_MANIFEST } from "./manifest/read.ts";
export type { NodePort, PodNetwork, Site } from "./ports.ts";
export type { Move, RePlaceOptions } from "./re-place.ts";
export type { ExtenderConfig } from "./scheduler/extender.ts";
export { Scheduler } from "./scheduler/scheduler.ts";
export type { Placement } from "./scheduler/scheduler.ts";

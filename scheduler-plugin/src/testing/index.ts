// Exports for other packages' tests.
export { ExactSolver } from "../adapters/exact-solver.ts";
export { GraphApiSource } from "../adapters/graph-api-source.ts";
export type { GraphSource } from "../ports/ports.ts";
export type { SchedulerPlugin } from "../service.ts";
export { openOwnCertificates as openExtenderCertificates } from "../certificates/own-certificates.ts";
export type { DeschedulerMode } from "../descheduler/decision/settings.ts";
export { Evictor } from "../descheduler/evictor.ts";
export { ReleasedPods } from "../descheduler/released-pods.ts";
export { StartedMoves } from "../descheduler/started-moves.ts";
export { DeschedulerRig } from "./descheduler-rig.ts";
export { createDeschedulerMetrics } from "../descheduler/decision/metrics.ts";
export { createDeschedulerTerm } from "./term-alone.ts";
export { ReplicaLoad } from "./replica-load.ts";
export { clusterSnapshot, CPU, labelsOf, NODES, overBestOf, snapshotOf } from "./rollout-objects.ts";

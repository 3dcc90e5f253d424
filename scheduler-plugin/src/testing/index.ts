// What tests of other packages use.
export { ExactSolver } from "../adapters/exact-solver.ts";
export { GraphApiSource } from "../adapters/graph-api-source.ts";
export type { GraphSource } from "../ports/ports.ts";
export type { SchedulerPlugin } from "../service.ts";
export { openOwnCertificates as openExtenderCertificates } from "../certificates/own-certificates.ts";
export type { DeschedulerMode } from "../descheduler/decision/settings.ts";
export { DeschedulerRig } from "./descheduler-rig.ts";
export { createDeschedulerTerm } from "./term-alone.ts";
export { ReplicaLoad } from "./replica-load.ts";

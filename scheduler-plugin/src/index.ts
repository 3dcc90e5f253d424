export { ExactSolver } from "./adapters/exact-solver.ts";
export type { ExactSolverOptions } from "./adapters/exact-solver.ts";
export { GraphApiSource } from "./adapters/graph-api-source.ts";
export type { GraphApiSourceOptions } from "./adapters/graph-api-source.ts";
export { ExtenderArgsError, SCHEDULER_ERROR_CODES } from "./ports/errors.ts";
export type { SchedulerErrorCode } from "./ports/errors.ts";
export type { GraphSource } from "./ports/ports.ts";
export type { ProposalsConfig } from "./proposals/config.ts";
export { createSchedulerPlugin } from "./service.ts";
export type { SchedulerPlugin, SchedulerPluginDeps } from "./service.ts";
export { schedulerPluginSettings } from "./settings.ts";
export type { SchedulerPluginConfig } from "./settings.ts";
export {
  DECISIONS_CLIENT,
  KUBE_SCHEDULER_CLIENT,
  openOwnCertificates as openExtenderCertificates,
} from "./certificates/own-certificates.ts";
export { extenderCertificateSettings } from "./certificates/settings.ts";
export type { ExtenderCertificateConfig } from "./certificates/settings.ts";
export { MOVE_STAGES } from "./descheduler/move-progress.ts";
export type { MoveProgress, MoveStage } from "./descheduler/move-progress.ts";
export { DESCHEDULER_MODES, deschedulerSettings } from "./descheduler/decision/settings.ts";
export type { DeschedulerConfig, DeschedulerMode } from "./descheduler/decision/settings.ts";
export { deschedulerTable } from "./descheduler/report.ts";
export type { DeschedulerReport, ReportedPod } from "./descheduler/report.ts";
export { createDeschedulerTerm } from "./descheduler/term-alone.ts";
export type { DeschedulerAlone, DeschedulerAloneOptions } from "./descheduler/term-alone.ts";
export { PLANNED_NODE_ANNOTATION } from "./planner/adapters/pod-writer.ts";
export { plannerSettings } from "./planner/settings.ts";
export type { PlannerConfig } from "./planner/settings.ts";
export { spreadLimits } from "./planner/spread.ts";
export { webhookSettings } from "./webhook/settings.ts";
export type { WebhookConfig } from "./webhook/settings.ts";

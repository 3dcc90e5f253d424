export { ExtenderArgsError, SCHEDULER_ERROR_CODES } from "./errors.ts";
export type { SchedulerErrorCode } from "./errors.ts";
export type { GraphSource } from "./ports.ts";
export { createSchedulerPlugin } from "./service.ts";
export type { SchedulerPlugin, SchedulerPluginDeps } from "./service.ts";
export { schedulerPluginSettings } from "./settings.ts";
export type { SchedulerPluginConfig } from "./settings.ts";

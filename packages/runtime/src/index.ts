export type { Clock, Random } from "./clock.ts";
export type { Logger, LogFields } from "./log.ts";

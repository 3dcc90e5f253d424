export { CommandError } from "./errors.ts";
export type { StartScheduler } from "./commands/experiment.ts";
export { createProgram } from "./program.ts";

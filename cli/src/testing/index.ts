export { CommandError } from "../errors.ts";
export { createProgram } from "../program.ts";
export { readStatement, type StatedFailure, type StatedWay, type Statement } from "../output/statements.ts";
// The demo's settings, for models of it.
export { aggregatorConfig, movingConfig, schedulerConfig } from "../embedded/settings.ts";
export { PROPOSALS } from "../embedded/services.ts";

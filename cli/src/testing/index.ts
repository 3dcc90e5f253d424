export { CommandError } from "../errors.ts";
export { createProgram } from "../program.ts";
export { readStatement, type StatedFailure, type StatedWay, type Statement } from "../output/statements.ts";
export { aggregatorConfig, movingConfig, schedulerConfig } from "../embedded/settings.ts";
export { PROPOSALS } from "../embedded/services.ts";

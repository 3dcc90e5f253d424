// Less common algorithms, kept apart to speed up command starts.
export { LinearProgram, type LinearSolution, type LinearSolver, type Terms } from "./linear-program.ts";
export { fairLevel } from "./fair-share.ts";
export { erlangC } from "./queueing.ts";
export { allSteps, inTurns, sortedSteps } from "./steps.ts";
export { EventQueue } from "./event-queue.ts";

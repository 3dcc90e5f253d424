// What few need: each file that every command loads costs it time at its start.
export { LinearProgram, type LinearSolution, type LinearSolver, type Terms } from "./linear-program.ts";
export { fairLevel } from "./fair-share.ts";
export { erlangC } from "./queueing.ts";
export { allSteps, inTurns, sortedSteps } from "./steps.ts";

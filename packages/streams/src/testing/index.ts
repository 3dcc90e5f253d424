export { balancedPaths } from "./balance.ts";
export { jointRoutes } from "../paper/jrba.ts";
export type { Demand } from "../placed-job.ts";
export { allocationProgram } from "../proofs/allocation.ts";
export { pathChoiceProgram } from "./path-choice.ts";
export type { RandomNetwork } from "../simulation/random-network.ts";
export { randomDemands, randomJob, randomSystem } from "./random-problems.ts";
export { testSolver } from "./solver.ts";

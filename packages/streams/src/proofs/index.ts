// Problems of the paper as linear programs, and what is held against their proven optima: for tests and benchmarks.
export { balancedPaths } from "../joint/balance.ts";
export { jointRoutes } from "../paper/jrba.ts";
export { demandsOf, type Demand } from "../placed-job.ts";
export { allocationProgram } from "./allocation.ts";
export { pathChoiceProgram } from "./path-choice.ts";

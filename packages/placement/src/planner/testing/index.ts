export { optimum } from "./branch-and-bound.ts";
export type { Optimum } from "./branch-and-bound.ts";
export { randomProblem, smallProblem } from "./instances.ts";
export type { InstanceSize } from "./instances.ts";
export { OPTIMA } from "./optima.ts";
export type { ProvenOptimum } from "./optima.ts";
export { faultsOf } from "./verdict.ts";

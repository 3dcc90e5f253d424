export { optimum } from "./branch-and-bound.ts";
export { randomProblem, smallProblem } from "./instances.ts";
export { OPTIMA } from "./optima.ts";

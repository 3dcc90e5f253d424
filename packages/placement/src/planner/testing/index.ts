export { optimum } from "./branch-and-bound.ts";
export { pricedProblem, randomProblem, smallProblem } from "./instances.ts";
export { MONEY_OPTIMA, OPTIMA } from "./optima.ts";

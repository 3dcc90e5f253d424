export { optimum } from "./branch-and-bound.ts";
export { pricedProblem, randomProblem, smallProblem } from "./instances.ts";
export { MONEY_OPTIMA, OPTIMA, SITE_BEST } from "./optima.ts";
export { siteProblem } from "./site-problem.ts";

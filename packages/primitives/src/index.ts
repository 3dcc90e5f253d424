// What every package may use: numbers, texts and containers. Pure, and without dependencies.
export { BoundedMap } from "./bounded-map.ts";
export { MinHeap, NumberHeap } from "./heap.ts";
export { LinearProgram, type LinearSolution, type LinearSolver, type Terms } from "./linear-program.ts";
export { byPlace, naturally, NO_REGION, NO_ZONE } from "./node-order.ts";
export {
  parseAmount,
  parseBitsPerSecond,
  parseBytes,
  parseDecimal,
  parseMillicores,
  scaledUp,
} from "./quantity.ts";
export { reasonOf } from "./reason.ts";
export { ascending, median, quantile, quantileOfSorted } from "./statistics.ts";
export { TokenBucket, type TokenRate } from "./token-bucket.ts";

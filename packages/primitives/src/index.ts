export { backoffMs, type BackoffGrowth } from "./backoff.ts";
export { BoundedMap } from "./bounded-map.ts";
export { codeOf, reasonOf } from "./errors.ts";
export {
  definedOf,
  entriesOf,
  isKeyOf,
  isList,
  isNestedTooDeeply,
  isRecord,
  JSON_LEVELS_RULE,
  keysOf,
  looseFields,
  looseList,
  looseText,
  parseJson,
  recordOf,
  type LooseFields,
  type Unchecked,
  boundPort,
} from "./fields.ts";
export { MinHeap, NumberHeap } from "./heap.ts";
export { byPlace, naturally, NO_REGION, NO_ZONE } from "./node-order.ts";
export {
  parseAmount,
  parseBitsPerSecond,
  parseBytes,
  parseDecimal,
  parseMillicores,
  scaledUp,
  type BitsPerSecond,
  type Bytes,
  type Millicores,
} from "./quantity.ts";
export { seeded, type Draw } from "./seeded.ts";
export {
  ascending,
  median,
  nearestRank,
  percentileLack,
  quantile,
  quantileOfSorted,
  samplesForPercentile,
  upperMedian,
} from "./statistics.ts";
export { TokenBucket, type TokenRate } from "./token-bucket.ts";

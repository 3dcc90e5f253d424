export { exportRequest } from "./otlp-schema.ts";
export type { Temporality } from "../otlp/model.ts";
export { reduceAttributes } from "./reduce-attributes.ts";
export { RANGED_METRICS } from "../value-ranges.ts";

export { expectedRate, rateAfter } from "../rate-forecast.ts";
export type { KnownRate } from "../rate-forecast.ts";
export { isWorthItsImage } from "../image-price.ts";
export { chosenChanges } from "./chosen.ts";
export { wantedReplicas } from "./zone-replicas.ts";
export type { WantedReplicas } from "./zone-replicas.ts";

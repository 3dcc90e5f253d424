export { percents } from "./distribute.ts";
export { hintedShares, MAX_HINTED_ZONES, zoneHints } from "./hints.ts";
export type { HintedEndpoint, ZonePlan } from "./hints.ts";
export { nextWeights } from "./steps.ts";
export { evenWeights, zoneAdvice } from "./zone-weights.ts";
export type { NoWeights, ZoneView, ZoneWeights } from "./zone-weights.ts";

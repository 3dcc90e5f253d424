export { accessGate } from "./access-gate.ts";
export { AccessReview } from "./access-review.ts";
export type { AccessDecision, ReviewSubject } from "./access-review.ts";
export { accessSettings } from "./settings.ts";
export type { AccessSettings } from "./settings.ts";

export { accessGate } from "./access-gate.ts";
export type { AccessDecider, AccessGateOptions } from "./access-gate.ts";
export { AccessReview } from "./access-review.ts";
export type { AccessDecision, AccessRequest, AccessReviewOptions, ReviewSubject } from "./access-review.ts";
export { accessSettings } from "./settings.ts";
export type { AccessSettings } from "./settings.ts";

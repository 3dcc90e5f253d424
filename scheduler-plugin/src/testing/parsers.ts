// What reads requests of others, for fuzzers and benchmarks.
export { readPlan } from "../dispatch/objects/plan-annotation.ts";
export { filterAnswer, readExtenderArgs } from "../domain/extender-wire.ts";
export { ExtenderArgsError } from "../ports/errors.ts";
export { isFaulty, readReview } from "../webhook/admission-review.ts";

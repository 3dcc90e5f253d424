// Parsers of untrusted requests, for fuzzers and benchmarks.
export { readPlan } from "../dispatch/objects/plan-annotation.ts";
export { AppGroupFloors } from "../streams/app-group-floors.ts";
export { decide, type DecidedJob } from "../streams/domain/decide.ts";
export { admitted } from "../streams/domain/floors.ts";
export { contentsOf, type AddressedFlow } from "../streams/domain/flow-plans.ts";
export { filterAnswer, readExtenderArgs } from "../domain/extender-wire.ts";
export { ExtenderArgsError } from "../ports/errors.ts";
export { isFaulty, readReview } from "../webhook/admission-review.ts";

// What reads packets and plans of others, for fuzzers and benchmarks.
export { Responder } from "../responder/responder.ts";
export { sourceOf } from "../responder/source.ts";
export { parsePlan } from "../domain/plan.ts";

export { Responder } from "../responder/responder.ts";
export { sourceOf } from "../responder/source.ts";
export { parsePlan } from "../domain/plan.ts";

// What tests of other packages use.
export type { Point } from "../scenario/model.ts";
export { loadScenario } from "../scenario/read-scenario.ts";
export {
  createContender,
  type SchedulableNode,
  type SchedulingRequest,
  type WaitingPod,
} from "../contenders/index.ts";
export { LINK_KINDS, type LinkKind } from "../ground/lab/index.ts";
export { createModelGround } from "../ground/model/index.ts";
export { LOADS } from "../ground/validation/points.ts";
export { type Comparison, validateGrounds, type Validation } from "../ground/validation/validate.ts";

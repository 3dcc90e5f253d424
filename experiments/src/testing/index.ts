export type { Point } from "../scenario/model.ts";
export { loadScenario } from "../scenario/read-scenario.ts";
export {
  createContender,
  type SchedulableNode,
  type SchedulingRequest,
  type WaitingPod,
} from "../contenders/index.ts";
export { LINK_KINDS, type LinkKind } from "../testbed/lab/index.ts";
export { createModelTestbed } from "../testbed/model/index.ts";
export { LOADS } from "../testbed/testing/validation/points.ts";
export { type Comparison, validateGrounds, type Validation } from "../testbed/testing/validation/validate.ts";
export { shareInTime } from "../kais/endpoints/share-in-time.ts";

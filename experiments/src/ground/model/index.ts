export { createModelGround, REPLACE_MS } from "./ground.ts";
export { PlacementError } from "./plan.ts";

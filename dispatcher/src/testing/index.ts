export { ask } from "./client.ts";
export { DispatchRig } from "./dispatch-rig.ts";

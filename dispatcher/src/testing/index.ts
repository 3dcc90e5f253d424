// What tests and benchmarks of other packages use.
export { ask } from "./client.ts";
export { DispatchRig } from "./dispatch-rig.ts";

// What tests and benchmarks of other packages use.
export { DispatchRig } from "./dispatch-rig.ts";

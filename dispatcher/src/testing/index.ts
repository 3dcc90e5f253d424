// Exports for other packages' tests and benchmarks.
export { ask } from "./client.ts";
export { DispatchRig } from "./dispatch-rig.ts";

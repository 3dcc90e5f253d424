// What tests and benchmarks of other packages use.
export { frame, request, system, viewOf } from "./system.ts";

// Exports for other packages' tests and benchmarks.
export { frame, request, system, viewOf } from "./system.ts";

export { createIprouteKernel } from "../adapters/iproute/iproute-kernel.ts";
export { toolRunner } from "../adapters/iproute/run-tool.ts";
export { cleanUp } from "../clean-up.ts";
export { Reconciler } from "../reconciler.ts";

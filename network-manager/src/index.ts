export { lookAtKernelParts, type KernelParts } from "./kernel-parts.ts";
export { createNetworkManager } from "./network-manager.ts";
export { createPlanSource } from "./adapters/plan-source.ts";
export { flowsSettings } from "./settings.ts";

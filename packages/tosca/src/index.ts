export { appGroupOf, DEFAULT_ALGORITHM } from "./app-group.ts";
export type { Application } from "./application.ts";
export { applyObjects } from "./apply.ts";
export type { AppliedObject } from "./apply.ts";
export { ToscaError } from "./errors.ts";
export { manifestsOf } from "./manifests.ts";
export { readTosca } from "./read.ts";
export { workflowGraphOf } from "./workflow-graph.ts";

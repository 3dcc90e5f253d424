// Streams: jobs of dependent tasks, their nodes, routes and rates. Pure.
export { balancedAllocation, leastRequested, partitioned } from "./baselines/baselines.ts";
export { StreamError } from "./errors.ts";
export { FlowNetwork, type FlowLink } from "./flow-network.ts";
export { withHeaders } from "./headers.ts";
export { joint } from "./joint/joint.ts";
export { otfa } from "./paper/otfa.ts";
export { otfs } from "./paper/otfs.ts";
export { FieldError } from "./objects/fields.ts";
export { readFlowLink, readFlowLinks } from "./objects/flow-links.ts";
export { readJobDefinition, type JobDefinition } from "./objects/job-definition.ts";
export { limitOf } from "./limit.ts";
export { keepingPromises } from "./promises.ts";
export { PathTable } from "./paths.ts";
export type { PlacedJob } from "./placed-job.ts";
export { restoredJob } from "./restore.ts";
export { schedule, type Change, type StreamStrategy } from "./strategy.ts";
export { createStreamJob, type StreamJob, type StreamTaskSpec } from "./stream-job.ts";
export { StreamSystem } from "./stream-system.ts";

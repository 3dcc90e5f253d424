// Streams: jobs of dependent tasks, their nodes, routes and rates. Pure.
export { balancedAllocation, leastRequested, partitioned } from "./baselines/baselines.ts";
export { StreamError } from "./errors.ts";
export { DUPLEX_MODES, FlowNetwork, type FlowLink } from "./flow-network.ts";
export { joint } from "./joint/joint.ts";
export { otfa } from "./paper/otfa.ts";
export { otfs } from "./paper/otfs.ts";
export { limitOf } from "./limit.ts";
export type { PlacedJob } from "./placed-job.ts";
export { schedule, type StreamStrategy } from "./strategy.ts";
export { createStreamJob, type StreamJob, type StreamTaskSpec } from "./stream-job.ts";
export { StreamSystem } from "./stream-system.ts";

// Streams: jobs of dependent tasks, their nodes, routes and rates. Pure.
export { balancedAllocation, leastRequested, partitioned, type Sharing } from "./baselines/baselines.ts";
export { StreamError, type StreamErrorCode } from "./errors.ts";
export { DUPLEX_MODES, FlowNetwork, type Duplex, type FlowLink } from "./flow-network.ts";
export { joint, type JointSettings } from "./joint/joint.ts";
export { otfa, type OtfaOptions } from "./paper/otfa.ts";
export { otfs, type OtfsOptions } from "./paper/otfs.ts";
export { limitOf, type Limit } from "./limit.ts";
export type { Path } from "./paths.ts";
export type { Flow, PlacedJob } from "./placed-job.ts";
export { schedule, type StreamStrategy } from "./strategy.ts";
export { createStreamJob, type StreamJob, type StreamJobSpec, type StreamTaskSpec } from "./stream-job.ts";
export { StreamSystem, type NodeResources } from "./stream-system.ts";

// The parts that need no third-party package: what a command loads before it knows what it is to do.
export type { Clock, Random } from "./clock.ts";
export { systemClock } from "./system.ts";
export { seededRandom } from "./random.ts";
export { CodedError } from "./errors.ts";
export { visible, visibleData, visibleLines, visibleSource } from "./visible.ts";
export { nodeProcessHost } from "./lifecycle/process-host.ts";
export { isLoopback } from "./http/addresses.ts";
export { authorizedFetch } from "./http-client/authorized-fetch.ts";
export type { Fetch } from "./http-client/authorized-fetch.ts";

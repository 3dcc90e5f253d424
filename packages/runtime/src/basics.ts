// Parts without third-party packages, which a command loads before parsing its arguments.
export type { Clock, Random } from "./clock.ts";
export { systemClock } from "./system.ts";
export { seededRandom } from "./random.ts";
export { CodedError } from "./errors.ts";
export { visible, visibleData, visibleLines, visibleSource } from "./visible.ts";
export { nodeProcessHost } from "./lifecycle/process-host.ts";
export { isLoopback } from "./http/addresses.ts";
export { authorizedFetch } from "./http-client/authorized-fetch.ts";
export type { Fetch } from "./http-client/authorized-fetch.ts";

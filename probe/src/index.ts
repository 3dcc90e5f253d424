export { createMeasuringThreads } from "./measuring-threads.ts";
export { inspectHostSockets } from "./host-sockets.ts";
export type { HostSockets, IcmpOpening } from "./host-sockets.ts";
export { netPingObstacle } from "./icmp/net-ping/module.ts";
export type { MeasuringThreads } from "./ports/ports.ts";
export { createProbe } from "./probe.ts";
export type { Probe } from "./probe.ts";
export { probeSettings } from "./settings.ts";

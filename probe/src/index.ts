export { PROBE_DEFAULTS, probeConfig } from "./config.ts";
export type { ProbeConfig, SecretText } from "./config.ts";
export { createHttpPlanSource } from "./adapters/http-plan-source.ts";
export type { HttpPlanSourceOptions } from "./adapters/http-plan-source.ts";
export { runClosedLoop } from "./engine/closed-loop.ts";
export type { ClosedLoopOptions } from "./engine/closed-loop.ts";
export { createMeasuringThreads } from "./measuring-threads.ts";
export type { MeasuringThreadsDeps } from "./measuring-threads.ts";
export { createHttpLeases } from "./bandwidth/http-leases.ts";
export type { HttpLeasesOptions } from "./bandwidth/http-leases.ts";
export type { ReceiverConfig, ReceiverCounts, SenderResult, SenderTask } from "./bandwidth/messages.ts";
export { BandwidthService } from "./bandwidth/service.ts";
export type { BandwidthDeps, BandwidthSettings } from "./bandwidth/service.ts";
export { ReceiverThread, sendTest } from "./bandwidth/threads.ts";
export type { ReceiverThreadDeps } from "./bandwidth/threads.ts";
export { parseAddress } from "./domain/ip.ts";
export { Keyring } from "./domain/keyring.ts";
export {
  MAX_PACKET_BYTES,
  MIN_PACKET_BYTES,
  createRequest,
  findFault,
  signRequest,
} from "./domain/packet.ts";
export type { PacketFault, PacketType, RequestFields, Transport } from "./domain/packet.ts";
export { PROBE_ERROR_CODES, PlanRefusedError, PlanSourceBusyError, ProbeError } from "./ports/errors.ts";
export type { ProbeErrorCode } from "./ports/errors.ts";
export { inspectHostSockets } from "./host-sockets.ts";
export type { HostSockets, IcmpOpening, KernelStamps } from "./host-sockets.ts";
export type { IcmpReport, IcmpTask } from "./icmp/messages.ts";
export { netPingObstacle } from "./icmp/net-ping/module.ts";
export { IcmpThread } from "./icmp/thread.ts";
export { METRIC_NAMES } from "./metrics/names.ts";
export { DISCARD_REASONS, PLAN_REFUSALS } from "./ports/ports.ts";
export type {
  BandwidthLease,
  BandwidthLeases,
  BandwidthMeasurement,
  DiscardReason,
  Engine,
  EngineConfig,
  EngineHandlers,
  EngineSnapshot,
  FlowSnapshot,
  IcmpProberName,
  MeasuringThreads,
  PacketKey,
  PlanAnswer,
  PlanRefusal,
  PlanSource,
  ProbePeer,
  ProbePlan,
  ResponderSnapshot,
  ThreadSnapshot,
  TimestampSource,
  ZeroCheckSnapshot,
} from "./ports/ports.ts";
export { ResponderThread } from "./responder/thread.ts";
export type { ResponderThreadDeps } from "./responder/thread.ts";
export { createProbe } from "./probe.ts";
export type { Probe, ProbeDeps } from "./probe.ts";
export { probeSettings } from "./settings.ts";
export type { ProbeSettings } from "./settings.ts";

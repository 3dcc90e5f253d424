export { PROBE_DEFAULTS, probeConfig } from "./config.ts";
export type { ProbeConfig, SecretText } from "./config.ts";
export { createHttpPlanSource } from "./adapters/http-plan-source.ts";
export type { HttpPlanSourceOptions } from "./adapters/http-plan-source.ts";
export { createMeasuringThread } from "./engine/thread.ts";
export type { MeasuringThreadDeps } from "./engine/thread.ts";
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
export { PROBE_ERROR_CODES, PlanRefusedError, ProbeError } from "./errors.ts";
export type { ProbeErrorCode } from "./errors.ts";
export { METRIC_NAMES } from "./metrics/names.ts";
export { DISCARD_REASONS, PLAN_REFUSALS } from "./ports.ts";
export type {
  DiscardReason,
  Engine,
  EngineConfig,
  EngineHandlers,
  EngineSnapshot,
  FlowSnapshot,
  MeasuringThread,
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
} from "./ports.ts";
export { createProbe } from "./probe.ts";
export type { Probe, ProbeDeps } from "./probe.ts";
export { probeSettings } from "./settings.ts";
export type { ProbeSettings } from "./settings.ts";

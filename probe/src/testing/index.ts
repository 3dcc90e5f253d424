export { probeConfig } from "./probe-config.ts";
export type { ProbeConfig } from "../settings.ts";
export { createHttpPlanSource } from "../adapters/http-plan-source.ts";
export { type ClosedLoopOptions, runClosedLoop } from "./closed-loop.ts";
export type { SenderResult } from "../bandwidth/messages.ts";
export { ReceiverThread, sendTest } from "../bandwidth/threads.ts";
export { parseAddress } from "../domain/ip.ts";
export { Keyring } from "../domain/keyring.ts";
export { createRequest, findFault, signRequest } from "../domain/packet.ts";
export { PlanRefusedError } from "../ports/errors.ts";
export type { IcmpReport, IcmpTask } from "../icmp/messages.ts";
export { IcmpThread } from "../icmp/thread.ts";
export type {
  Engine,
  EngineConfig,
  EngineSnapshot,
  FlowSnapshot,
  IcmpProberName,
  ProbePeer,
} from "../ports/ports.ts";
export { ResponderThread } from "../responder/thread.ts";

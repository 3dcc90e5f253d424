import type { Method } from "@isochrone/telemetry";
import { parseKeyEntries } from "./domain/key-text.ts";
import type { EngineConfig } from "./ports/ports.ts";
import type { ProbeConfig } from "./settings.ts";

export function toEngineConfig(config: ProbeConfig): EngineConfig {
  const isSigned = config.authentication !== "none";
  return {
    node: config.node,
    identity: config.identity ?? config.bindAddress,
    bindAddress: config.bindAddress,
    udpPort: config.udpPort,
    tcpPort: config.tcpPort,
    methods: config.methods as readonly Method[],
    intervalMs: config.intervalMs,
    timeoutMs: config.timeoutMs,
    publishIntervalMs: config.publishIntervalMs,
    warmupPackets: config.warmupPackets,
    packetBytes: config.packetBytes,
    keys: isSigned ? parseKeyEntries(config.hmacKeys ?? "", "hmacKeys", []) : [],
    signingKeyId: isSigned ? config.signingKeyId : 0,
    connectIntervalMs: config.connectIntervalMs,
    dscp: config.dscp,
    icmpPayloadBytes: config.icmpPayloadBytes,
    icmpProber: config.icmpProber,
    acceptTranslatedSource: config.acceptTranslatedSource,
    stallBoundMs: config.stallBoundMs,
    responderPacketsPerSecond: config.responderPacketsPerSecond,
    zeroCheckIntervalMs: config.zeroCheckIntervalMs,
  };
}

import { METHODS, type Method } from "@isochrone/telemetry";
import { isUnusableTarget, parseAddress } from "./domain/ip.ts";
import { MAX_PACKET_BYTES, MIN_PACKET_BYTES } from "./domain/packet.ts";
import { ProbeError } from "./ports/errors.ts";
import { parseKeyEntries } from "./domain/key-text.ts";
import { ICMP_PROBERS, type EngineConfig } from "./ports/ports.ts";

/** A secret as settings give it, or plain where a program makes it up itself. */
export type SecretText = string | { reveal(): string };

/** What a probe runs with: the values of `probeSettings`, checked and resolved. */
export interface ProbeConfig {
  readonly node: string;
  /** Null: as the plan says. */
  readonly zone: string | null;
  readonly region: string | null;
  readonly bindAddress: string;
  /** The node's own IP address as peers know it. Null: `bindAddress`. */
  readonly identity: string | null;
  readonly udpPort: number;
  readonly tcpPort: number;
  readonly intervalMs: number;
  readonly timeoutMs: number;
  readonly methods: readonly string[];
  readonly publishIntervalMs: number;
  readonly warmupPackets: number;
  readonly packetBytes: number;
  readonly stallBoundMs: number;
  readonly aggregatorUrl: string;
  readonly planRefreshMs: number;
  /** Null: no cache. */
  readonly planCachePath: string | null;
  readonly maxPeers: number;
  readonly authentication: string;
  /**
   * `id:base64` entries, separated by commas; null when `hmacKeysFile` has them, or without authentication.
   */
  readonly hmacKeys: SecretText | null;
  /** File of such entries, a line or comma each; read again when it changes. Null: `hmacKeys` alone. */
  readonly hmacKeysFile: string | null;
  readonly signingKeyId: number;
  readonly acceptTranslatedSource: boolean;
  readonly responderPacketsPerSecond: number;
  readonly zeroCheckIntervalMs: number;
  readonly connectIntervalMs: number;
  readonly dscp: number;
  readonly icmpPayloadBytes: number;
  readonly icmpProber: string;
  /** Port that takes bandwidth bursts; 0: any free one. */
  readonly bandwidthPort: number;
  /** False: neither tests nor takes tests. */
  readonly bandwidth: boolean;
  readonly bandwidthIntervalMs: number;
  readonly bandwidthHourlyBytes: number;
  readonly bandwidthMaxBitsPerSecond: number;
  /** Records that wait for the bus while it is away; the oldest are dropped, and counted. */
  readonly bufferRecords: number;
  readonly bufferMaxAgeMs: number;
  readonly catchUpRecordsPerSecond: number;
  /** Series of the /metrics page that the probe stays below, by showing less of each pair. */
  readonly maxSeries: number;
  /** Histograms of each pair besides the quantiles: many series. */
  readonly pairHistograms: boolean;
  /** The metric names of KEP-260's netperf component too. */
  readonly kepMetricNames: boolean;
  /** The pod shares the node's network: /sys and /proc show the node's interfaces. */
  readonly hostNetwork: boolean;
  /** 0: no HTTP server of its own. */
  readonly httpPort: number;
}

/** Whether packets are signed. */
const AUTHENTICATIONS = ["hmac", "none"];
/** The nonce and its check must fit; and the packet into every path's MTU. */
const ICMP_PAYLOAD_RANGE = [32, 1400] as const;

/** Every value that has a default; `probeSettings` uses them too. */
export const PROBE_DEFAULTS = {
  zone: null,
  region: null,
  bindAddress: "0.0.0.0",
  identity: null,
  udpPort: 7411,
  tcpPort: 7411,
  intervalMs: 1000,
  timeoutMs: 2000,
  methods: ["icmp", "udp_rr", "tcp_rr", "tcp_connect"],
  publishIntervalMs: 10_000,
  warmupPackets: 1,
  packetBytes: 128,
  stallBoundMs: 20,
  aggregatorUrl: "http://isochrone-aggregator:8080",
  planRefreshMs: 15_000,
  planCachePath: null,
  maxPeers: 512,
  authentication: "hmac",
  hmacKeysFile: null,
  signingKeyId: 1,
  acceptTranslatedSource: false,
  responderPacketsPerSecond: 1000,
  zeroCheckIntervalMs: 500,
  connectIntervalMs: 10_000,
  dscp: 0,
  icmpPayloadBytes: 56,
  icmpProber: "auto",
  bandwidthPort: 7413,
  bandwidth: true,
  bandwidthIntervalMs: 600_000,
  bandwidthHourlyBytes: 1_073_741_824,
  bandwidthMaxBitsPerSecond: 10_000_000_000,
  bufferRecords: 400,
  bufferMaxAgeMs: 300_000,
  catchUpRecordsPerSecond: 1,
  maxSeries: 500,
  pairHistograms: false,
  kepMetricNames: false,
  hostNetwork: false,
  httpPort: 0,
} as const satisfies Omit<ProbeConfig, "node" | "hmacKeys">;

/** A config of the defaults and what is given, checked. For composing a probe into another program. */
export function probeConfig(
  values: Partial<ProbeConfig> & Pick<ProbeConfig, "node" | "hmacKeys">,
): ProbeConfig {
  const config = Object.freeze({ ...PROBE_DEFAULTS, ...values });
  toEngineConfig(config);
  return config;
}

/**
 * Checks the values and gives the engine's part of them.
 * @throws ProbeError `probe_config_invalid` that lists every mistake
 */
export function toEngineConfig(config: ProbeConfig): EngineConfig {
  const mistakes = configMistakes(config);
  if (mistakes.length > 0) throw new ProbeError("probe_config_invalid", `probe: ${mistakes.join("; ")}`);
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
    keys: config.authentication === "none" ? [] : parseKeyEntries(keyTextOf(config), "hmacKeys", []),
    signingKeyId: config.authentication === "none" ? 0 : config.signingKeyId,
    connectIntervalMs: config.connectIntervalMs,
    dscp: config.dscp,
    icmpPayloadBytes: config.icmpPayloadBytes,
    icmpProber: config.icmpProber as EngineConfig["icmpProber"],
    acceptTranslatedSource: config.acceptTranslatedSource,
    stallBoundMs: config.stallBoundMs,
    responderPacketsPerSecond: config.responderPacketsPerSecond,
    zeroCheckIntervalMs: config.zeroCheckIntervalMs,
  };
}

/** Every rule that the values break, alone or in pairs: subject, rule and value. */
export function configMistakes(config: ProbeConfig): string[] {
  const mistakes: string[] = [];
  const identity = config.identity ?? config.bindAddress;
  const identityBytes = parseAddress(identity);
  if (identityBytes === null || isUnusableTarget(identityBytes)) {
    mistakes.push(
      `identity must be the IP address that peers know this node by (it defaults to bindAddress), got ${JSON.stringify(identity)}`,
    );
  }
  if (parseAddress(config.bindAddress) === null) {
    mistakes.push(`bindAddress must be an IP address, got ${JSON.stringify(config.bindAddress)}`);
  }
  if (config.node === "") mistakes.push('node must be the name of this node, got ""');
  checkKeys(config, mistakes);
  checkMethods(config.methods, mistakes);
  checkTimes(config, mistakes);
  checkPackets(config, mistakes);
  return mistakes;
}

/** A file's keys can't be judged here: it is read when the probe starts, and again whenever it changes. */
function checkKeys(config: ProbeConfig, mistakes: string[]): void {
  oneOf("authentication", config.authentication, AUTHENTICATIONS, mistakes);
  if (config.authentication === "none") return;
  const text = keyTextOf(config);
  if (text === "" && config.hmacKeysFile !== null) return;
  if (text === "") {
    mistakes.push("hmacKeys or hmacKeysFile must be set unless authentication is none, got neither");
    return;
  }
  const keys = parseKeyEntries(text, "hmacKeys", mistakes);
  if (config.hmacKeysFile === null && !keys.some((key) => key.id === config.signingKeyId)) {
    mistakes.push(`signingKeyId must be the id of one of hmacKeys, got ${config.signingKeyId}`);
  }
}

function checkPackets(config: ProbeConfig, mistakes: string[]): void {
  oneOf("icmpProber", config.icmpProber, ["auto", ...ICMP_PROBERS], mistakes);
  within("packetBytes", config.packetBytes, [MIN_PACKET_BYTES, MAX_PACKET_BYTES], mistakes);
  within("icmpPayloadBytes", config.icmpPayloadBytes, ICMP_PAYLOAD_RANGE, mistakes);
  within("dscp", config.dscp, [0, 63], mistakes);
}

function checkTimes(config: ProbeConfig, mistakes: string[]): void {
  atLeast("intervalMs", config.intervalMs, 10, mistakes);
  atLeast("timeoutMs", config.timeoutMs, 10, mistakes);
  atLeast("stallBoundMs", config.stallBoundMs, 10, mistakes);
  atLeast("connectIntervalMs", config.connectIntervalMs, 10, mistakes);
  // A snapshot that no packet can fall into tells nothing.
  if (config.publishIntervalMs < config.intervalMs) {
    mistakes.push(
      `publishIntervalMs must be at least intervalMs (${config.intervalMs}), got ${config.publishIntervalMs}`,
    );
  }
  // Otherwise the aggregator's pane has ended, or even the window, before a loss is known.
  if (config.timeoutMs > 3 * config.publishIntervalMs) {
    mistakes.push(
      `timeoutMs must be at most 3 x publishIntervalMs (${config.publishIntervalMs}), got ${config.timeoutMs}`,
    );
  }
}

function checkMethods(methods: readonly string[], mistakes: string[]): void {
  if (methods.length === 0)
    mistakes.push(`methods must name at least one of ${METHODS.join(", ")}, got none`);
  for (const method of methods) {
    if (!(METHODS as readonly string[]).includes(method)) {
      mistakes.push(`methods must be of ${METHODS.join(", ")}, got ${JSON.stringify(method)}`);
    }
  }
}

function keyTextOf({ hmacKeys }: ProbeConfig): string {
  if (hmacKeys === null) return "";
  return (typeof hmacKeys === "string" ? hmacKeys : hmacKeys.reveal()).trim();
}

function oneOf(name: string, value: string, allowed: readonly string[], mistakes: string[]): void {
  if (!allowed.includes(value))
    mistakes.push(`${name} must be one of ${allowed.join(", ")}, got ${JSON.stringify(value)}`);
}

function within(
  name: string,
  value: number,
  [least, most]: readonly [number, number],
  mistakes: string[],
): void {
  if (!(value >= least && value <= most))
    mistakes.push(`${name} must be from ${least} to ${most}, got ${value}`);
}

function atLeast(name: string, value: number, least: number, mistakes: string[]): void {
  if (!(value >= least)) mistakes.push(`${name} must be at least ${least}, got ${value}`);
}

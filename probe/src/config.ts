import { METHODS, type Method } from "@isochrone/telemetry";
import { isUnusableTarget, parseAddress } from "./domain/ip.ts";
import { MAX_PACKET_BYTES, MIN_PACKET_BYTES } from "./domain/packet.ts";
import { ProbeError } from "./errors.ts";
import type { EngineConfig, PacketKey } from "./ports.ts";

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
  /** `id:base64` entries, separated by commas. */
  readonly hmacKeys: SecretText;
  readonly signingKeyId: number;
  readonly acceptTranslatedSource: boolean;
  readonly responderPacketsPerSecond: number;
  readonly zeroCheckIntervalMs: number;
  /** 0: no HTTP server of its own. */
  readonly httpPort: number;
}

/** Bytes of an HMAC key: at least the strength of the truncated tag. */
const MIN_KEY_BYTES = 16;
const MAX_KEYS = 16;

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
  methods: ["udp_rr", "tcp_rr"],
  publishIntervalMs: 10_000,
  warmupPackets: 1,
  packetBytes: 128,
  stallBoundMs: 20,
  aggregatorUrl: "http://isochrone-aggregator:8080",
  planRefreshMs: 15_000,
  planCachePath: null,
  maxPeers: 512,
  signingKeyId: 1,
  acceptTranslatedSource: false,
  responderPacketsPerSecond: 1000,
  zeroCheckIntervalMs: 500,
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
    keys: parseKeys(config.hmacKeys, []),
    signingKeyId: config.signingKeyId,
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
  const keys = parseKeys(config.hmacKeys, mistakes);
  if (!keys.some((key) => key.id === config.signingKeyId)) {
    mistakes.push(`signingKeyId must be the id of one of hmacKeys, got ${config.signingKeyId}`);
  }
  checkMethods(config.methods, mistakes);
  checkTimes(config, mistakes);
  return mistakes;
}

function checkTimes(config: ProbeConfig, mistakes: string[]): void {
  atLeast("intervalMs", config.intervalMs, 10, mistakes);
  atLeast("timeoutMs", config.timeoutMs, 10, mistakes);
  atLeast("stallBoundMs", config.stallBoundMs, 10, mistakes);
  if (config.packetBytes < MIN_PACKET_BYTES || config.packetBytes > MAX_PACKET_BYTES) {
    mistakes.push(
      `packetBytes must be from ${MIN_PACKET_BYTES} to ${MAX_PACKET_BYTES}, got ${config.packetBytes}`,
    );
  }
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

/** Messages never show the secret. */
function parseKeys(value: SecretText, mistakes: string[]): PacketKey[] {
  const text = typeof value === "string" ? value : value.reveal();
  const entries = text
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
  if (entries.length === 0 || entries.length > MAX_KEYS) {
    mistakes.push(`hmacKeys must hold 1 to ${MAX_KEYS} entries of the form id:base64, got ${entries.length}`);
  }
  const keys: PacketKey[] = [];
  for (const [index, entry] of entries.entries()) {
    const colon = entry.indexOf(":");
    const id = Number(entry.slice(0, Math.max(0, colon)));
    const secret = Buffer.from(entry.slice(colon + 1), "base64");
    if (colon < 1 || !Number.isInteger(id) || id < 1 || id > 65_535) {
      mistakes.push(`hmacKeys entry ${index + 1} must begin with a key id from 1 to 65535 and a colon`);
    } else if (secret.length < MIN_KEY_BYTES) {
      mistakes.push(
        `hmacKeys entry ${index + 1} must have a base64 secret of at least ${MIN_KEY_BYTES} bytes, got ${secret.length}`,
      );
    } else if (keys.some((key) => key.id === id)) {
      mistakes.push(`hmacKeys must have each id once, got ${id} twice`);
    } else keys.push({ id, secret });
  }
  return keys;
}

function atLeast(name: string, value: number, least: number, mistakes: string[]): void {
  if (!(value >= least)) mistakes.push(`${name} must be at least ${least}, got ${value}`);
}

import {
  AGGREGATOR_CLIENT_SETTINGS,
  aggregatorClientRule,
  constant,
  derived,
  duration,
  flag,
  integer,
  list,
  oneOf,
  section,
  text,
  type Section,
  type SettingsOf,
} from "@isochrone/runtime";
import { METHODS } from "@isochrone/telemetry";
import { isUnusableTarget, parseAddress } from "./domain/ip.ts";
import { parseKeyEntries } from "./domain/key-text.ts";
import { MAX_PACKET_BYTES, MIN_PACKET_BYTES } from "./domain/packet.ts";
import { ICMP_PROBERS } from "./ports/ports.ts";

/** The nonce and its check must fit; and the packet into every path's MTU. */
const ICMP_PAYLOAD_BYTES = { min: 32, max: 1400 };

const table = {
  node: text({ description: "Name of the Kubernetes node that the probe runs on." }),
  zone: constant<string | null>(null, "The probe plan says it."),
  region: constant<string | null>(null, "The probe plan says it."),
  bindAddress: text({
    default: "0.0.0.0",
    description: "IP address that the echo responder listens on and probes are sent from.",
  }),
  identity: text({
    default: null,
    description:
      "The probe's own IP address as peers know it (the pod's address); packets for another one are not answered. Default: bindAddress.",
  }),
  udpPort: integer({
    default: 7411,
    min: 0,
    max: 65_535,
    description: "UDP and TCP port of the echo responder; 0 takes a free one for each.",
  }),
  tcpPort: derived(({ udpPort }: { readonly udpPort: number }) => udpPort, "It is probe.udpPort."),
  intervalMs: duration({
    default: 1000,
    min: 10,
    max: 3_600_000,
    description: "Time between two packets to one peer by one method.",
  }),
  timeoutMs: constant<number>(2000, "No documented case changes this default; later answers count as lost.", {
    min: 10,
  }),
  methods: list({
    default: [...METHODS],
    pattern: new RegExp(METHODS.join("|")),
    patternRule: `must hold only ${METHODS.join(", ")}`,
    minItems: 1,
    description: "How peers are measured: udp_rr, tcp_rr, tcp_connect, icmp.",
  }),
  publishIntervalMs: derived(
    ({ intervalMs }: { readonly intervalMs: number }) => Math.max(10_000, intervalMs),
    "It is ten seconds, or probe.intervalMs where that is longer.",
  ),
  warmupPackets: constant<number>(1, "No documented case changes this default."),
  packetBytes: constant<number>(128, "No documented case changes this default.", {
    min: MIN_PACKET_BYTES,
    max: MAX_PACKET_BYTES,
  }),
  stallBoundMs: constant<number>(20, "It belongs to the method of measurement.", { min: 10 }),
  ...AGGREGATOR_CLIENT_SETTINGS,
  planRefreshMs: constant<number>(
    15_000,
    "The aggregator waits for probes by this interval when it replaces a key.",
  ),
  planCachePath: text({
    default: null,
    description: "File that keeps the last plan, for a start while the aggregator is away.",
  }),
  maxPeers: constant<number>(512, "It is a bound against forged probe plans."),
  authentication: oneOf(["hmac", "none"], {
    default: "hmac",
    description:
      "Whether probe packets are signed and verified; none is for networks that are closed otherwise.",
  }),
  hmacKeys: constant<string | null>(null, "probe.hmacKeysFile has them, and is read again when it changes."),
  hmacKeysFile: text({
    default: null,
    description:
      "File with the keys of packet authentication, id:base64, a line each, at least 16 bytes; all are accepted, one signs. It is read again when it changes.",
  }),
  signingKeyId: constant<number>(1, "The probe plan says it."),
  acceptTranslatedSource: flag({
    default: false,
    description:
      "Answer packets whose sender's address was translated on the way; without it the claimed and the observed source must agree.",
  }),
  responderPacketsPerSecond: constant<number>(1000, "It is a bound for floods."),
  zeroCheckIntervalMs: constant<number>(500, "It belongs to the method of measurement."),
  connectIntervalMs: constant<number>(10_000, "It bounds what handshakes cost the peer.", {
    min: 10,
  }),
  dscp: integer({
    default: 0,
    min: 0,
    max: 63,
    description: "Differentiated services code point of probe packets.",
  }),
  icmpPayloadBytes: constant<number>(56, "It is what ping sends.", ICMP_PAYLOAD_BYTES),
  icmpProber: oneOf(["auto", ...ICMP_PROBERS], {
    default: "auto",
    description:
      "What sends ICMP echoes; auto takes the first of the others that works here. net_ping needs raw sockets and its native part: `npm run build:net-ping`, or an image that was built with NET_PING=yes.",
  }),
  bandwidth: flag({
    default: true,
    description: "Test the bandwidth to peers now and then, and take their tests.",
  }),
  bandwidthPort: integer({
    default: 7413,
    min: 0,
    max: 65_535,
    description: "UDP and TCP port that takes bandwidth bursts; 0 takes a free one.",
  }),
  bandwidthIntervalMs: constant<number>(
    600_000,
    "The aggregator decides when a test is due; asking more often changes nothing.",
  ),
  bandwidthHourlyBytes: constant<number>(
    1_073_741_824,
    "aggregator.bandwidthHourlyBytes is the budget; this bound only holds a forged order.",
  ),
  bandwidthMaxBitsPerSecond: integer({
    default: 10_000_000_000,
    min: 1_000_000,
    max: 1_000_000_000_000,
    description: "No burst is sent faster; faster links read as this rate.",
  }),
  bufferRecords: constant<number>(400, "It is an hour of records, and older ones are dropped anyway."),
  bufferMaxAgeMs: constant<number>(300_000, "The aggregator's window has passed older records."),
  catchUpRecordsPerSecond: constant<number>(1, "It bounds the load of many probes that catch up together."),
  maxSeries: constant<number>(500, "It is a bound for the page; with more peers it shows less of each."),
  pairHistograms: flag({
    default: false,
    description: "Prometheus histograms of each pair besides its quantiles; many series.",
  }),
  kepMetricNames: flag({
    default: false,
    description: "Also the metric names of KEP-260's netperf component.",
  }),
  hostNetwork: flag({
    default: false,
    description: "The pod shares the node's network, so that /sys and /proc show the node's interfaces.",
  }),
  httpPort: integer({
    default: 7412,
    min: 0,
    max: 65_535,
    description: "Port of /healthz, /readyz and /metrics; 0 = none.",
  }),
};

/** Settings of the probe service. */
export const probeSettings: Section<"probe", typeof table> = section("probe", table, {
  description: "The probe on each node: what it sends to its peers, and how it answers theirs.",
  rules: [addressesMistake, keysMistake, timesMistake, aggregatorClientRule("probe")],
});

export type ProbeConfig = SettingsOf<typeof probeSettings>;

function addressesMistake({ identity, bindAddress }: ProbeConfig): string | null {
  const mistakes: string[] = [];
  const known = identity ?? bindAddress;
  const knownBytes = parseAddress(known);
  if (knownBytes === null || isUnusableTarget(knownBytes)) {
    mistakes.push(
      `identity must be the IP address that peers know this node by (it defaults to bindAddress), got ${JSON.stringify(known)}`,
    );
  }
  if (parseAddress(bindAddress) === null)
    mistakes.push(`bindAddress must be an IP address, got ${JSON.stringify(bindAddress)}`);
  return joined(mistakes);
}

/** A file's keys can't be judged here: it is read when the probe starts, and again whenever it changes. */
function keysMistake({ authentication, hmacKeys, hmacKeysFile, signingKeyId }: ProbeConfig): string | null {
  if (authentication === "none") return null;
  const keyText = hmacKeys?.trim() ?? "";
  if (keyText === "") {
    return hmacKeysFile === null
      ? "hmacKeys or hmacKeysFile must be set unless authentication is none, got neither"
      : null;
  }
  const mistakes: string[] = [];
  const keys = parseKeyEntries(keyText, "hmacKeys", mistakes);
  if (hmacKeysFile === null && !keys.some(({ id }) => id === signingKeyId))
    mistakes.push(`signingKeyId must be the id of one of hmacKeys, got ${signingKeyId}`);
  return joined(mistakes);
}

function timesMistake({ intervalMs, timeoutMs, publishIntervalMs }: ProbeConfig): string | null {
  const mistakes: string[] = [];
  // A snapshot that no packet can fall into tells nothing.
  if (publishIntervalMs < intervalMs)
    mistakes.push(`publishIntervalMs must be at least intervalMs (${intervalMs}), got ${publishIntervalMs}`);
  // Otherwise the aggregator's pane has ended, or even the window, before a loss is known.
  if (timeoutMs > 3 * publishIntervalMs) {
    mistakes.push(`timeoutMs must be at most 3 x publishIntervalMs (${publishIntervalMs}), got ${timeoutMs}`);
  }
  return joined(mistakes);
}

function joined(mistakes: readonly string[]): string | null {
  return mistakes.length === 0 ? null : mistakes.join("; ");
}

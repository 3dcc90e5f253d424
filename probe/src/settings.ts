import {
  bytes,
  caFileSetting,
  clientFilesMistake,
  duration,
  flag,
  integer,
  list,
  oneOf,
  secret,
  section,
  text,
  tokenFileSetting,
  type Section,
  type SettingsOf,
} from "@isochrone/runtime";
import { PROBE_DEFAULTS as D, configMistakes } from "./config.ts";
import { MAX_PACKET_BYTES, MIN_PACKET_BYTES } from "./domain/packet.ts";

const table = {
  node: text({ description: "Name of the Kubernetes node that the probe runs on." }),
  zone: text({ default: null, description: "The node's zone; without it the probe plan says." }),
  region: text({ default: null, description: "The node's region; without it the probe plan says." }),
  bindAddress: text({
    default: D.bindAddress,
    description: "IP address that the echo responder listens on and probes are sent from.",
  }),
  identity: text({
    default: null,
    description:
      "The probe's own IP address as peers know it (the pod's address); packets for another one are not answered. Default: bindAddress.",
  }),
  udpPort: integer({
    default: D.udpPort,
    min: 0,
    max: 65_535,
    description: "UDP port of the echo responder; 0 takes a free one.",
  }),
  tcpPort: integer({
    default: D.tcpPort,
    min: 0,
    max: 65_535,
    description: "TCP port of the echo responder; 0 takes a free one.",
  }),
  intervalMs: duration({
    default: D.intervalMs,
    min: 10,
    max: 3_600_000,
    description: "Time between two packets to one peer by one method.",
  }),
  timeoutMs: duration({
    default: D.timeoutMs,
    min: 10,
    max: 60_000,
    description:
      "A packet without an answer for so long is lost; an answer after that is late, and the packet stays lost.",
  }),
  methods: list({
    default: [...D.methods],
    minItems: 1,
    description: "How peers are measured: udp_rr, tcp_rr, tcp_connect, icmp.",
  }),
  publishIntervalMs: duration({
    default: D.publishIntervalMs,
    min: 100,
    max: 600_000,
    description: "How often what was measured is published.",
  }),
  warmupPackets: integer({
    default: D.warmupPackets,
    min: 0,
    max: 1000,
    description: "First answers of each peer whose time is left out (neighbour discovery, route caches).",
  }),
  packetBytes: bytes({
    default: D.packetBytes,
    min: MIN_PACKET_BYTES,
    max: MAX_PACKET_BYTES,
    description: "Size of a request, and so of its answer.",
  }),
  stallBoundMs: duration({
    default: D.stallBoundMs,
    min: 10,
    max: 1000,
    description: "Samples are left out while the measuring thread stands still for longer than this.",
  }),
  aggregatorUrl: text({
    default: D.aggregatorUrl,
    pattern: /https?:\/\/\S+/,
    patternRule: "must be an http or https address",
    description: "Base address of the aggregator: source of the probe plan, and where measurements go.",
  }),
  aggregatorTokenFile: tokenFileSetting("the aggregator"),
  aggregatorCaFile: caFileSetting("the aggregator"),
  planRefreshMs: duration({
    default: D.planRefreshMs,
    min: 100,
    max: 3_600_000,
    description: "How often the aggregator is asked for the probe plan.",
  }),
  planCachePath: text({
    default: null,
    description: "File that keeps the last plan, for a start while the aggregator is away.",
  }),
  maxPeers: integer({
    default: D.maxPeers,
    min: 1,
    max: 5000,
    description: "A plan with more peers is refused.",
  }),
  authentication: oneOf(["hmac", "none"], {
    default: D.authentication,
    description:
      "Whether probe packets are signed and verified; none is for networks that are closed otherwise.",
  }),
  hmacKeys: secret({
    default: null,
    description:
      "Keys of packet authentication: id:base64, separated by commas, at least 16 bytes each; all are accepted, one signs.",
  }),
  hmacKeysFile: text({
    default: D.hmacKeysFile,
    description: "File with such keys, a line each; read again when it changes.",
  }),
  signingKeyId: integer({
    default: D.signingKeyId,
    min: 1,
    max: 65_535,
    description: "Id of the key that signs.",
  }),
  acceptTranslatedSource: flag({
    default: D.acceptTranslatedSource,
    description:
      "Answer packets whose sender's address was translated on the way; without it the claimed and the observed source must agree.",
  }),
  responderPacketsPerSecond: integer({
    default: D.responderPacketsPerSecond,
    min: 1,
    max: 1_000_000,
    description: "Packets per second that the echo responder takes from one source address.",
  }),
  zeroCheckIntervalMs: duration({
    default: D.zeroCheckIntervalMs,
    min: 0,
    max: 60_000,
    description:
      "Time between two ICMP echoes to the own loopback address, which show the instrument's own error; 0 = none.",
  }),
  connectIntervalMs: duration({
    default: D.connectIntervalMs,
    min: 100,
    max: 3_600_000,
    description: "Time between two handshakes of tcp_connect with one peer.",
  }),
  dscp: integer({
    default: D.dscp,
    min: 0,
    max: 63,
    description: "Differentiated services code point of probe packets.",
  }),
  icmpPayloadBytes: bytes({
    default: D.icmpPayloadBytes,
    min: 32,
    max: 1400,
    description: "Payload of an ICMP echo request, headers not counted.",
  }),
  icmpProber: oneOf(["auto", "kernel", "fping", "net_ping"], {
    default: D.icmpProber,
    description:
      "What sends ICMP echoes; auto takes the first of the others that works here. net_ping needs raw sockets and its native part: `npm run build:net-ping`, or an image that was built with NET_PING=yes.",
  }),
  bandwidth: flag({
    default: D.bandwidth,
    description: "Test the bandwidth to peers now and then, and take their tests.",
  }),
  bandwidthPort: integer({
    default: D.bandwidthPort,
    min: 0,
    max: 65_535,
    description: "UDP and TCP port that takes bandwidth bursts; 0 takes a free one.",
  }),
  bandwidthIntervalMs: duration({
    default: D.bandwidthIntervalMs,
    min: 1000,
    max: 86_400_000,
    description: "How often the aggregator is asked for a bandwidth test.",
  }),
  bandwidthHourlyBytes: bytes({
    default: D.bandwidthHourlyBytes,
    min: 0,
    max: 1_099_511_627_776,
    description: "Bytes that the node's bandwidth tests may put on the wire in an hour.",
  }),
  bandwidthMaxBitsPerSecond: integer({
    default: D.bandwidthMaxBitsPerSecond,
    min: 1_000_000,
    max: 1_000_000_000_000,
    description: "No burst is sent faster; faster links read as this rate.",
  }),
  bufferRecords: integer({
    default: D.bufferRecords,
    min: 1,
    max: 100_000,
    description: "Records that wait for the bus while it is away; 400 are an hour of a node's.",
  }),
  bufferMaxAgeMs: duration({
    default: D.bufferMaxAgeMs,
    min: 1000,
    max: 86_400_000,
    description:
      "Records that have waited for longer are dropped, and counted: the aggregators' window has passed them.",
  }),
  catchUpRecordsPerSecond: integer({
    default: D.catchUpRecordsPerSecond,
    min: 1,
    max: 100_000,
    description:
      "How fast what has waited is sent once the bus is back, beside what is new: all probes of a cluster have waited.",
  }),
  maxSeries: integer({
    default: D.maxSeries,
    min: 200,
    max: 1_000_000,
    description:
      "Series of the /metrics page that the probe stays below: with many peers it shows less of each.",
  }),
  pairHistograms: flag({
    default: D.pairHistograms,
    description: "Prometheus histograms of each pair besides its quantiles; many series.",
  }),
  kepMetricNames: flag({
    default: D.kepMetricNames,
    description: "Also the metric names of KEP-260's netperf component.",
  }),
  hostNetwork: flag({
    default: D.hostNetwork,
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
  rules: [
    (values) => configMistakes(values).join("; ") || null,
    ({ aggregatorUrl, aggregatorTokenFile, aggregatorCaFile }) =>
      clientFilesMistake("probe", { aggregatorUrl }, { aggregatorTokenFile }, { aggregatorCaFile }),
  ],
});

/** Values of {@link probeSettings}: a ProbeConfig. */
export type ProbeSettings = SettingsOf<typeof probeSettings>;

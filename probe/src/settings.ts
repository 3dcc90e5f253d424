import {
  caFileSetting,
  clientFilesMistake,
  constant,
  derived,
  duration,
  flag,
  integer,
  list,
  oneOf,
  section,
  text,
  tokenFileSetting,
  type Section,
} from "@isochrone/runtime";
import { PROBE_DEFAULTS as D, configMistakes, type SecretText } from "./config.ts";

const table = {
  node: text({ description: "Name of the Kubernetes node that the probe runs on." }),
  zone: constant<string | null>(null, "The probe plan says it."),
  region: constant<string | null>(null, "The probe plan says it."),
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
  timeoutMs: constant<number>(
    D.timeoutMs,
    "No documented case changes this default; later answers count as lost.",
  ),
  methods: list({
    default: [...D.methods],
    minItems: 1,
    description: "How peers are measured: udp_rr, tcp_rr, tcp_connect, icmp.",
  }),
  publishIntervalMs: derived(
    ({ intervalMs }: { readonly intervalMs: number }) => Math.max(D.publishIntervalMs, intervalMs),
    "It is ten seconds, or probe.intervalMs where that is longer.",
  ),
  warmupPackets: constant<number>(D.warmupPackets, "No documented case changes this default."),
  packetBytes: constant<number>(D.packetBytes, "No documented case changes this default."),
  stallBoundMs: constant<number>(D.stallBoundMs, "It belongs to the method of measurement."),
  aggregatorUrl: text({
    default: D.aggregatorUrl,
    pattern: /https?:\/\/\S+/,
    patternRule: "must be an http or https address",
    description: "Base address of the aggregator: source of the probe plan, and where measurements go.",
  }),
  aggregatorTokenFile: tokenFileSetting("the aggregator"),
  aggregatorCaFile: caFileSetting("the aggregator"),
  planRefreshMs: constant<number>(
    D.planRefreshMs,
    "The aggregator waits for probes by this interval when it replaces a key.",
  ),
  planCachePath: text({
    default: null,
    description: "File that keeps the last plan, for a start while the aggregator is away.",
  }),
  maxPeers: constant<number>(D.maxPeers, "It is a bound against forged probe plans."),
  authentication: oneOf(["hmac", "none"], {
    default: D.authentication,
    description:
      "Whether probe packets are signed and verified; none is for networks that are closed otherwise.",
  }),
  hmacKeys: constant<SecretText | null>(
    null,
    "probe.hmacKeysFile has them, and is read again when it changes.",
  ),
  hmacKeysFile: text({
    default: D.hmacKeysFile,
    description:
      "File with the keys of packet authentication, id:base64, a line each, at least 16 bytes; all are accepted, one signs. It is read again when it changes.",
  }),
  signingKeyId: constant<number>(D.signingKeyId, "The probe plan says it."),
  acceptTranslatedSource: flag({
    default: D.acceptTranslatedSource,
    description:
      "Answer packets whose sender's address was translated on the way; without it the claimed and the observed source must agree.",
  }),
  responderPacketsPerSecond: constant<number>(D.responderPacketsPerSecond, "It is a bound for floods."),
  zeroCheckIntervalMs: constant<number>(D.zeroCheckIntervalMs, "It belongs to the method of measurement."),
  connectIntervalMs: constant<number>(D.connectIntervalMs, "It bounds what handshakes cost the peer."),
  dscp: integer({
    default: D.dscp,
    min: 0,
    max: 63,
    description: "Differentiated services code point of probe packets.",
  }),
  icmpPayloadBytes: constant<number>(D.icmpPayloadBytes, "It is what ping sends."),
  icmpProber: oneOf(["auto", "kernel", "net_ping"], {
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
  bandwidthIntervalMs: constant<number>(
    D.bandwidthIntervalMs,
    "The aggregator decides when a test is due; asking more often changes nothing.",
  ),
  bandwidthHourlyBytes: constant<number>(
    D.bandwidthHourlyBytes,
    "aggregator.bandwidthHourlyBytes is the budget; this bound only holds a forged order.",
  ),
  bandwidthMaxBitsPerSecond: integer({
    default: D.bandwidthMaxBitsPerSecond,
    min: 1_000_000,
    max: 1_000_000_000_000,
    description: "No burst is sent faster; faster links read as this rate.",
  }),
  bufferRecords: constant<number>(
    D.bufferRecords,
    "It is an hour of records, and older ones are dropped anyway.",
  ),
  bufferMaxAgeMs: constant<number>(D.bufferMaxAgeMs, "The aggregator's window has passed older records."),
  catchUpRecordsPerSecond: constant<number>(
    D.catchUpRecordsPerSecond,
    "It bounds the load of many probes that catch up together.",
  ),
  maxSeries: constant<number>(
    D.maxSeries,
    "It is a bound for the page; with more peers it shows less of each.",
  ),
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

import {
  bytes,
  duration,
  flag,
  integer,
  list,
  secret,
  section,
  text,
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
    description: "How peers are measured: udp_rr, tcp_rr, icmp.",
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
  hmacKeys: secret({
    description:
      "Keys of packet authentication: id:base64, separated by commas, at least 16 bytes each; all are accepted, one signs.",
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
  rules: [(values) => configMistakes(values).join("; ") || null],
});

/** Values of {@link probeSettings}: a ProbeConfig. */
export type ProbeSettings = SettingsOf<typeof probeSettings>;
